//! Pieces of a cluster file, as a person would write them.

use crosstie_fabric::init::{CagePort, ClusterProposal, ProposedCage, ProposedNode};
use crosstie_model::{
    Cable,
    spec::{self, PortMatch},
};
use toml_edit::Value;

use crate::text::{printable, wrap};

const COLUMNS: usize = 98;

#[derive(Default)]
struct Lines(Vec<String>);

impl Lines {
    fn add(&mut self, line: impl Into<String>) {
        self.0.push(line.into());
    }

    fn set(&mut self, key: &str, value: impl std::fmt::Display) {
        self.0.push(format!("{key} = {value}"));
    }

    fn comment(&mut self, text: &str) {
        let lines = wrap(&printable(text), COLUMNS).into_iter();
        self.0.extend(lines.map(|line| format!("# {line}")));
    }

    fn text(self) -> String {
        self.0.join("\n") + "\n"
    }
}

/// Quoted, with everything escaped that has to be.
fn quoted(text: &impl ToString) -> String {
    Value::from(text.to_string()).to_string()
}

pub(super) fn header(name: &str, proposal: &ClusterProposal) -> String {
    let mut lines = Lines::default();
    lines.comment(
        "The cluster as it should be. `crosstie init` wrote what it found; change it as you like. Run again, it adds \
         what is new and leaves your edits and comments alone. `crosstie plan` shows what this file would change.",
    );
    lines.set("format", spec::FORMAT);
    lines.set("name", quoted(&name));
    lines.add("");
    lines.add("[fabric]");
    if let Some(mtu) = proposal.mtu {
        lines.comment("What every cabled port carries; 9000 where all of them take it.");
        lines.set("mtu", mtu.0);
    }
    if let Some(pool) = proposal.pool {
        lines.comment(
            "Addresses of the fabric come from here. It overlaps no address and no route that any node has.",
        );
        lines.set("pool", quoted(&pool));
    } else {
        lines.comment(
            "Every private network is in use on some node: choose one that may be shared.",
        );
        lines.comment("pool = \"10.77.0.0/16\"");
    }
    if let Some(qos) = &proposal.qos {
        lines.add("");
        lines.comment(
            "RoCE through a switch: this priority is made lossless on the nodes, and the switch has to be set alike.",
        );
        lines.add("[qos]");
        lines.set("priority", qos.priority);
        lines.set("dscp", qos.dscp);
        lines.set("ecn", qos.ecn);
    }
    lines.text()
}

pub(super) fn node_fragment(node: &ProposedNode, number: u32) -> String {
    let mut lines = Lines::default();
    lines.add("");
    if !node.unknown.is_empty() {
        lines.comment(&format!(
            "{}: nothing was heard there, and the driver does not tell which of them share a cage.",
            node.unknown.join(", ")
        ));
    }
    lines.add("[[node]]");
    lines.set("name", quoted(&node.name));
    lines.set("number", number);
    if let Some(ssh) = &node.ssh {
        lines.set("ssh", quoted(ssh));
    }
    for cage in &node.cages {
        add_cage(&mut lines, "[[node.cage]]", cage);
    }
    lines.text()
}

/// A cage for a node that is there, as a document of its own.
pub(super) fn cage_fragment(cage: &ProposedCage) -> String {
    let mut lines = Lines::default();
    add_cage(&mut lines, "[[cage]]", cage);
    lines.text()
}

fn add_cage(lines: &mut Lines, header: &str, cage: &ProposedCage) {
    lines.add("");
    if cage.by_hearing {
        lines.comment(
            "The driver does not tell twins: these were heard on one wire, so they are taken for one cage.",
        );
    }
    lines.add(header);
    lines.set("id", quoted(&cage.id));
    lines.add("ports = [");
    for port in &cage.ports {
        lines.add(port_line(port));
    }
    lines.add("]");
}

fn port_line(port: &CagePort) -> String {
    let pointer = match &port.matches {
        PortMatch::Name(name) => quoted(name),
        PortMatch::Guid { guid } => format!("{{ guid = {} }}", quoted(guid)),
        PortMatch::Mac { mac } => format!("{{ mac = {} }}", quoted(mac)),
    };
    let interface = port.interface.as_ref().map(|name| format!(", {name}"));
    let label = format!("{}{}", port.device, interface.unwrap_or_default());
    format!("    {pointer}, # {}", printable(&label))
}

pub(super) fn cable_fragment(cable: &Cable) -> String {
    let mut lines = Lines::default();
    lines.add("");
    lines.add("[[cable]]");
    match cable {
        Cable::Direct { a, b, number } => {
            lines.set("a", quoted(a));
            lines.set("b", quoted(b));
            if let Some(number) = number {
                lines.set("number", number);
            }
        }
        Cable::Switched { port, plane } => {
            lines.set("port", quoted(port));
            lines.set("plane", quoted(plane));
        }
    }
    lines.text()
}
