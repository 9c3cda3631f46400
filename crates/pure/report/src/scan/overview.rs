//! Many nodes, a line each.

use crosstie_model::Gbps;

use super::{ScanResult, ScannedNode};
use crate::{
    doctor::plural,
    text::{Palette, TableRow, TextSpan, TextTone, plain, quiet, strong, table},
};

/// With fewer nodes the whole is an overview.
const MIN_NODES: usize = 3;

/// Nothing where the nodes are few.
pub(super) fn overview(outcomes: &[ScanResult], palette: Palette, out: &mut String) {
    if outcomes.len() < MIN_NODES {
        return;
    }
    let rows: Vec<TableRow> = outcomes.iter().map(row).collect();
    table(palette, &rows, out);
    out.push('\n');
}

fn row(outcome: &ScanResult) -> TableRow {
    match outcome {
        ScanResult::Node(node) => TableRow::Cells(
            0,
            vec![
                strong(&node.host),
                cages(node),
                plain(ceiling(node)),
                plain(gpus(node)),
                quiet(machine(node)),
            ],
        ),
        // An error would push the columns apart.
        ScanResult::Failed { host, error } => TableRow::Heading(vec![
            strong(host),
            TextSpan::new(TextTone::Bad, format!("  not scanned: {error}")),
        ]),
    }
}

/// `1 of 2 cages active`
fn cages(node: &ScannedNode) -> TextSpan {
    let active = node.cages.iter().filter(|cage| cage.active).count();
    match plural(node.cages.len(), "cage") {
        None if node.rdma.is_empty() => TextSpan::new(TextTone::Bad, "no RDMA device"),
        None => TextSpan::new(TextTone::Bad, "no cage"),
        Some(cages) if active == 0 => TextSpan::new(TextTone::Bad, format!("0 of {cages} active")),
        Some(cages) => TextSpan::new(TextTone::Good, format!("{active} of {cages} active")),
    }
}

/// Of all active cages together.
fn ceiling(node: &ScannedNode) -> String {
    let active = node.cages.iter().filter(|cage| cage.active);
    let known: Vec<f64> = active.filter_map(|cage| cage.ceiling_gbps).collect();
    if known.is_empty() {
        return String::new();
    }
    Gbps(known.iter().sum()).to_string()
}

fn gpus(node: &ScannedNode) -> String {
    match node.gpus.as_slice() {
        [] => "no GPU".to_owned(),
        [only] => only.name.clone(),
        [first, ..] => format!("{} × {}", node.gpus.len(), first.name),
    }
}

fn machine(node: &ScannedNode) -> String {
    let product = node.product.as_ref();
    let product = product.map(|product| product.replace('_', " "));
    let parts = [product, node.arch.clone()];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}
