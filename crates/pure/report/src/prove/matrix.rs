//! Many nodes: percents of the ceiling, from row to column.

use std::collections::BTreeMap;

use super::{PairRow, ProveReport};
use crate::text::{Palette, TableRow, TextSpan, TextTone, line, plain, quiet, table};

/// Nodes that fit a screen; of more, only those with something wrong.
const MAX_NODES: usize = 16;

pub(super) fn matrix(prove: &ProveReport, palette: Palette, out: &mut String) {
    let mut worst: BTreeMap<(&str, &str), &PairRow> = BTreeMap::new();
    for pair in prove.pairs.iter().filter(|pair| counts(pair)) {
        let entry = worst.entry((&pair.from, &pair.to)).or_insert(pair);
        if rank(pair) > rank(entry) {
            *entry = pair;
        }
    }
    let all: Vec<&str> = prove.nodes.iter().map(|node| node.host.as_str()).collect();
    let is_odd = |host: &&&str| {
        let mut own = worst
            .iter()
            .filter(|((from, to), _)| from == *host || to == *host);
        own.any(|(_, pair)| pair.verdict != "healthy")
    };
    let shown: Vec<&str> = if all.len() > MAX_NODES {
        all.iter().filter(is_odd).copied().take(MAX_NODES).collect()
    } else {
        all.clone()
    };
    if shown.is_empty() {
        let text = format!("  all {} nodes reach their ceilings", all.len());
        line(palette, &[TextSpan::new(TextTone::Good, text)], out);
        out.push('\n');
        return;
    }
    let title = "RDMA bandwidth from row to column, percent of the ceiling; the worst rail";
    line(palette, &[quiet(title)], out);
    let mut head = vec![plain("")];
    head.extend((0..shown.len()).map(|column| quiet(format!("{:>4}", column + 1))));
    let mut rows = vec![TableRow::Cells(2, head)];
    for (index, from) in shown.iter().enumerate() {
        let mut cells = vec![plain(format!("{:>2} {from}", index + 1))];
        cells.extend(
            shown
                .iter()
                .map(|to| cell(from, to, worst.get(&(*from, *to)).copied())),
        );
        rows.push(TableRow::Cells(2, cells));
    }
    table(palette, &rows, out);
    if shown.len() < all.len() {
        let text = format!(
            "  {} of {} nodes: those with something wrong",
            shown.len(),
            all.len()
        );
        line(palette, &[quiet(text)], out);
    }
    out.push('\n');
}

/// Alone where it was measured again alone.
fn counts(pair: &PairRow) -> bool {
    let bandwidth = pair.kind.starts_with("rdma-") && pair.kind != "rdma-latency";
    bandwidth && (pair.phase == "solo" || pair.phase == "round")
}

fn rank(pair: &PairRow) -> (u32, bool) {
    (
        100_u32.saturating_sub(pair.percent.unwrap_or(0)),
        pair.phase == "round",
    )
}

fn cell(from: &str, to: &str, pair: Option<&PairRow>) -> TextSpan {
    if from == to {
        return quiet(format!("{:>4}", "–"));
    }
    let Some(pair) = pair else {
        return quiet(format!("{:>4}", "·"));
    };
    let tone = super::view::tone(&pair.verdict);
    match pair.percent {
        Some(percent) => TextSpan::new(tone, format!("{percent:>4}")),
        None => TextSpan::new(
            tone,
            format!("{:>4}", if pair.verdict == "failed" { "✗" } else { "?" }),
        ),
    }
}
