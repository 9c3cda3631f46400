//! Many nodes, a line each.

use crosstie_model::Gbps;

use super::{Node, Outcome};
use crate::{
    doctor::plural,
    text::{Palette, Row, Span, Tone, plain, quiet, strong, table},
};

/// With fewer nodes the whole is an overview.
const MANY: usize = 3;

/// Nothing where the nodes are few.
pub(super) fn overview(outcomes: &[Outcome], palette: Palette, out: &mut String) {
    if outcomes.len() < MANY {
        return;
    }
    let rows: Vec<Row> = outcomes.iter().map(row).collect();
    table(palette, &rows, out);
    out.push('\n');
}

fn row(outcome: &Outcome) -> Row {
    match outcome {
        Outcome::Node(node) => Row::Cells(
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
        Outcome::Failed { host, error } => Row::Heading(vec![
            strong(host),
            Span::new(Tone::Bad, format!("  not scanned: {error}")),
        ]),
    }
}

/// `1 of 2 cages active`
fn cages(node: &Node) -> Span {
    let active = node.cages.iter().filter(|cage| cage.active).count();
    match plural(node.cages.len(), "cage") {
        None if node.rdma.is_empty() => Span::new(Tone::Bad, "no RDMA device"),
        None => Span::new(Tone::Bad, "no cage"),
        Some(cages) if active == 0 => Span::new(Tone::Bad, format!("0 of {cages} active")),
        Some(cages) => Span::new(Tone::Good, format!("{active} of {cages} active")),
    }
}

/// Of all active cages together.
fn ceiling(node: &Node) -> String {
    let active = node.cages.iter().filter(|cage| cage.active);
    let known: Vec<f64> = active.filter_map(|cage| cage.ceiling_gbps).collect();
    if known.is_empty() {
        return String::new();
    }
    Gbps(known.iter().sum()).to_string()
}

fn gpus(node: &Node) -> String {
    match node.gpus.as_slice() {
        [] => "no GPU".to_owned(),
        [only] => only.name.clone(),
        [first, ..] => format!("{} × {}", node.gpus.len(), first.name),
    }
}

fn machine(node: &Node) -> String {
    let product = node.product.as_ref();
    let product = product.map(|product| product.replace('_', " "));
    let parts = [product, node.arch.clone()];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}
