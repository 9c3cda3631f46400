//! What an NCCL log says, on one screen: is it RDMA, between whom, over what, and what is wrong.

use crosstie_model::Severity;
use crosstie_nccl_log::{NcclHost, NcclLogReport, NcclPair, NcclRunReport, NcclTransport};

use crate::{
    finding::{finding, heading},
    text::{Palette, TableRow, TextSpan, TextTone, line, plain, quiet, strong, table, with_remark},
};

/// More pairs than a screen holds are left to the JSON.
const MAX_PAIRS: usize = 24;
const MAX_HOSTS: usize = 16;

pub fn view(report: &NcclLogReport, palette: Palette) -> String {
    let mut out = String::new();
    for (index, run) in report.runs.iter().enumerate() {
        if report.runs.len() > 1 {
            line(palette, &[strong(format!("run {}", index + 1))], &mut out);
        }
        draw(run, palette, &mut out);
        out.push('\n');
    }
    if report.runs.is_empty() {
        headline_of_nothing(report, palette, &mut out);
        out.push('\n');
    }
    notes(report, palette, &mut out);
    findings(report, palette, &mut out);
    out
}

/// The JSON's schema.
pub fn schema() -> schemars::Schema {
    crate::document::document_schema::<NcclLogReport>()
}

/// What is wrong at length, what is only worth knowing in a line.
fn findings(report: &NcclLogReport, palette: Palette, out: &mut String) {
    if report.findings.is_empty() {
        return;
    }
    out.push('\n');
    for found in &report.findings {
        if found.severity == Severity::Info {
            heading(found, palette, out);
        } else {
            finding(found, palette, out);
        }
    }
    if let Some(worst) = report.findings.first() {
        let command = format!("crosstie explain {}", worst.id);
        let hint = with_remark(command, "tells more");
        line(palette, &TextSpan::offer(TextTone::Quiet, &hint), out);
    }
}

fn headline_of_nothing(report: &NcclLogReport, palette: Palette, out: &mut String) {
    let text = if report.messages == 0 {
        "No line of NCCL's in this log. Start the job with NCCL_DEBUG=INFO and read its output again."
    } else {
        "Is it RDMA? The log does not say. Start the job with NCCL_DEBUG=INFO and read its output again."
    };
    line(palette, &[strong(text)], out);
}

/// The answer in one line.
fn headline(run: &NcclRunReport) -> (TextTone, String) {
    let one_node = run.several_nodes == Some(false);
    let gdr = match run.gdr {
        Some(true) => ", straight to the GPU's memory (GPUDirect)",
        Some(false) => ", through host memory (no GPUDirect)",
        None => "",
    };
    match run.transport {
        _ if one_node && run.pairs.is_empty() => (
            TextTone::Plain,
            "One node: nothing crosses the network.".to_owned(),
        ),
        NcclTransport::Ib => (TextTone::Good, format!("RDMA: yes{gdr}.")),
        NcclTransport::Socket if run.several_nodes == Some(true) => (
            TextTone::Bad,
            "RDMA: no. Data between nodes goes over TCP sockets.".to_owned(),
        ),
        NcclTransport::Socket => (
            TextTone::Plain,
            "RDMA: no, TCP sockets. The log does not show whether there is more than one node."
                .to_owned(),
        ),
        NcclTransport::Mixed => (
            TextTone::Alarm,
            "RDMA: in part. Some channels between nodes use RDMA and some TCP sockets.".to_owned(),
        ),
        NcclTransport::Unknown => (
            TextTone::Plain,
            "RDMA: the log does not say. NCCL_DEBUG=INFO shows the network and its channels."
                .to_owned(),
        ),
    }
}

fn draw(run: &NcclRunReport, palette: Palette, out: &mut String) {
    let (tone, text) = headline(run);
    line(palette, &[TextSpan::new(tone, text)], out);
    let size = [
        run.ranks.map(|ranks| count(u64::from(ranks), "rank")),
        run.nodes.map(|nodes| count(u64::from(nodes), "node")),
    ];
    let size: Vec<String> = size.into_iter().flatten().collect();
    if !size.is_empty() {
        line(palette, &[quiet(format!("  {}", size.join(" on ")))], out);
    }
    if !run.pairs.is_empty() {
        out.push('\n');
        table(palette, &pairs(run), out);
        let more = run.pairs.len().saturating_sub(MAX_PAIRS) as u64 + run.pairs_left_out;
        if more > 0 {
            line(
                palette,
                &[quiet(format!(
                    "  and {} (--json has them)",
                    count(more, "pair")
                ))],
                out,
            );
        }
    }
    out.push('\n');
    let shown = run.hosts.iter().take(MAX_HOSTS);
    table(palette, &shown.map(host).collect::<Vec<_>>(), out);
    if run.hosts.len() > MAX_HOSTS {
        let more = count((run.hosts.len() - MAX_HOSTS) as u64, "node");
        line(palette, &[quiet(format!("  and {more}"))], out);
    }
    let within: Vec<String> = run
        .within_nodes
        .iter()
        .map(|(kind, number)| format!("{kind} {number}"))
        .collect();
    if !within.is_empty() {
        line(
            palette,
            &[quiet("  inside nodes  "), plain(within.join(" · "))],
            out,
        );
    }
}

fn count(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

fn pairs(run: &NcclRunReport) -> Vec<TableRow> {
    const TITLES: [&str; 6] = ["from", "to", "via", "channels", "sends on", "receives on"];
    let mut rows = vec![TableRow::Cells(2, TITLES.map(quiet).to_vec())];
    rows.extend(run.pairs.iter().take(MAX_PAIRS).flat_map(routes));
    rows
}

fn routes(pair: &NcclPair) -> Vec<TableRow> {
    let row = |route: &crosstie_nccl_log::NcclRoute| {
        let tone = match route.via.as_str() {
            "NET/Socket" => TextTone::Bad,
            via if via.starts_with("NET/IB") => TextTone::Good,
            _ => TextTone::Plain,
        };
        let gdr = if route.gdr { " GPUDirect" } else { "" };
        let cells = [
            plain(&pair.from),
            plain(&pair.to),
            TextSpan::new(tone, format!("{}{gdr}", route.via)),
            plain(route.channels.to_string()),
            plain(route.send_devices.join(", ")),
            plain(route.receive_devices.join(", ")),
        ];
        TableRow::Cells(2, cells.to_vec())
    };
    pair.routes.iter().map(row).collect()
}

/// `spark-a  rank 0  IB  rocep1s0f1/RoCE, roceP2p1s0f1/RoCE`
fn host(host: &NcclHost) -> TableRow {
    let ranks: Vec<String> = host.ranks.iter().map(u32::to_string).collect();
    let ranks = match ranks.as_slice() {
        [] => String::new(),
        [only] => format!("rank {only}"),
        [first, .., last] if ranks.len() > 8 => format!("{} ranks, {first} to {last}", ranks.len()),
        several => format!("ranks {}", several.join(" ")),
    };
    let device = |device: &crosstie_nccl_log::NcclDevice| match &device.link {
        Some(link) => format!("{}/{link}", device.name),
        None => device.name.clone(),
    };
    let devices: Vec<String> = host.devices.iter().map(device).collect();
    let cells = [
        strong(&host.name),
        plain(ranks),
        plain(host.networks.join(", ")),
        plain(devices.join(", ")),
    ];
    TableRow::Cells(2, cells.to_vec())
}

fn notes(report: &NcclLogReport, palette: Palette, out: &mut String) {
    let mut note = |label: &str, tone: TextTone, text: String| {
        let spans = [quiet(format!("  {label:<8} ")), TextSpan::new(tone, text)];
        line(palette, &spans, out);
    };
    if !report.versions.is_empty() {
        note("NCCL", TextTone::Plain, report.versions.join(", "));
    }
    if !report.plugins.is_empty() {
        note("plugin", TextTone::Plain, report.plugins.join(", "));
    }
    let read = format!(
        "{}, {} of NCCL's",
        count(report.lines, "line"),
        report.messages
    );
    note("read", TextTone::Quiet, read);
    if report.ray_merged {
        let text = "Ray left out lines that it found alike: RAY_DEDUP_LOGS=0 keeps every channel";
        note("note", TextTone::Quiet, text.to_owned());
    }
    if report.truncated {
        note(
            "note",
            TextTone::Quiet,
            "the log names more than is kept; the rest is left out".to_owned(),
        );
    }
}
