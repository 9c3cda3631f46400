//! What each node is and runs.

use maud::{Markup, html};

use super::number;
use crate::run_report::{PortReport, RunNodeReport, RunReport};

/// With more, each is folded.
const MAX_UNFOLDED: usize = 2;

pub(super) fn section(report: &RunReport) -> Markup {
    let open = report.nodes.len() <= MAX_UNFOLDED;
    html! {
        section id="nodes" aria-labelledby="nodes-title" {
            h2 id="nodes-title" { "Nodes" }
            div.nodes {
                @for node in &report.nodes {
                    details open[open] {
                        summary { strong { (node.host) } @if let Some(line) = line(node) { span.quiet { " · " (line) } } }
                        dl.facts { @for fact in &node.facts { dt { (fact.what) } dd { (fact.value) } } }
                        @if !node.ports.is_empty() { (ports(node)) }
                    }
                }
            }
        }
    }
}

fn line(node: &RunNodeReport) -> Option<String> {
    let of = |what: &str| {
        node.facts
            .iter()
            .find(|fact| fact.what == what)
            .map(|fact| fact.value.as_str())
    };
    let parts: Vec<&str> = [of("Machine"), of("GPUs"), of("Kernel")]
        .into_iter()
        .flatten()
        .collect();
    (!parts.is_empty()).then(|| parts.join(" · "))
}

fn ports(node: &RunNodeReport) -> Markup {
    let label = format!("RDMA ports of {}", node.host);
    html! {
        div.scroll tabindex="0" role="region" aria-label=(label) {
            table {
                caption { "RDMA ports" }
                thead { tr {
                    @for column in ["device", "interface", "cage", "link", "rate", "MTU (path)", "PCIe", "card", "firmware"] {
                        th scope="col" { (column) }
                    }
                } }
                tbody { @for port in &node.ports { (row(port)) } }
            }
        }
    }
}

fn row(port: &PortReport) -> Markup {
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let mtu = match (port.interface_mtu, port.path_mtu) {
        (Some(interface), Some(path)) => format!("{interface} ({path})"),
        (interface, path) => interface
            .or(path)
            .map(|mtu| mtu.to_string())
            .unwrap_or_default(),
    };
    html! {
        tr {
            th.nowrap scope="row" { (port.device) }
            td.nowrap { (text(&port.interface)) }
            td { (text(&port.cage)) }
            td { (text(&port.link_layer)) }
            td.number { @if let Some(rate) = port.rate_gbps { (number::gbps(rate)) " Gb/s" } }
            td.nowrap { (mtu) }
            td.nowrap { (text(&port.pcie)) @if let Some(gbps) = port.pcie_gbps { ", " (number::gbps(gbps)) " Gb/s" } }
            td { (text(&port.model)) }
            td.nowrap { (text(&port.firmware)) }
        }
    }
}
