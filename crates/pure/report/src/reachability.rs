//! The proof of a fabric on a terminal: pairs of nodes, their rails, and why one does not answer.

#[cfg(test)]
mod tests;

use std::collections::{BTreeSet, HashMap};

use crosstie_grade::reach::{JudgedPair, ReachabilityOutcome, ReachabilityProof};

use crate::text::{Palette, TableRow, TextSpan, TextTone, item, line, table};

/// Pairs of ports that are shown one by one; of more, only those with something wrong.
const MAX_PAIRS: usize = 24;

/// The JSON schema of a proof.
pub fn schema() -> schemars::Schema {
    crate::document::closed_schema::<ReachabilityProof>()
}

/// Two ports, and what was judged of both directions between them.
struct Link<'a> {
    there: &'a JudgedPair,
    back: Option<&'a JudgedPair>,
}

impl<'a> Link<'a> {
    fn nodes(&self) -> [&'a str; 2] {
        [&self.there.pair.from.node, &self.there.pair.to.node]
    }

    fn directions(&self) -> impl Iterator<Item = &'a JudgedPair> {
        [self.there].into_iter().chain(self.back)
    }

    fn is_good(&self) -> bool {
        self.directions().all(|judged| judged.outcome.is_good())
    }
}

/// Pair by pair of nodes, then one line that sums up.
pub fn view(proof: &ReachabilityProof, palette: Palette) -> String {
    let mut links = links(proof);
    let all = links.len();
    if all > MAX_PAIRS {
        links.retain(|link| !link.is_good());
    }
    let mut out = String::new();
    for of_nodes in links.chunk_by(|one, next| one.nodes() == next.nodes()) {
        group(of_nodes, palette, &mut out);
    }
    if links.len() < all {
        let other = if links.is_empty() { "" } else { "other " };
        let rest = format!("  ✓ {} {other}pairs of ports", all - links.len());
        line(palette, &[TextSpan::new(TextTone::Good, rest)], &mut out);
        out.push('\n');
    }
    line(palette, &[verdict(proof)], &mut out);
    out
}

/// Both directions as one, those of the same two nodes together, in the order in which nodes come.
fn links(proof: &ReachabilityProof) -> Vec<Link<'_>> {
    let mut links: Vec<Link> = Vec::new();
    let mut places = HashMap::new();
    let mut order = HashMap::new();
    for judged in &proof.pairs {
        let (from, to) = (&judged.pair.from, &judged.pair.to);
        for node in [&from.node, &to.node] {
            let next = order.len();
            order.entry(node.as_str()).or_insert(next);
        }
        if let Some(place) = places.get(&(to, from)) {
            let link: &mut Link = &mut links[*place];
            link.back = Some(judged);
        } else {
            places.insert((from, to), links.len());
            links.push(Link {
                there: judged,
                back: None,
            });
        }
    }
    links.sort_by_key(|link| link.nodes().map(|node| order.get(node).copied()));
    links
}

fn group(links: &[Link], palette: Palette, out: &mut String) {
    let Some([a, b]) = links.first().map(Link::nodes) else {
        return;
    };
    let title = TextSpan::new(TextTone::Strong, format!("{a} ↔ {b}"));
    line(palette, &[title], out);
    let rows: Vec<TableRow> = links.iter().map(row).collect();
    table(palette, &rows, out);
    for judged in links.iter().flat_map(Link::directions) {
        if let Some(why) = reason(judged) {
            let (from, to) = (&judged.pair.from, &judged.pair.to);
            let text = format!("{} → {}: {why}", from.node, to.address);
            item(palette, (TextTone::Alarm, "✗ "), &text, out);
        }
    }
    out.push('\n');
}

fn row(link: &Link) -> TableRow {
    let pair = &link.there.pair;
    let mark = |arrow: &str, judged: Option<&JudgedPair>| match judged.map(|found| &found.outcome) {
        Some(outcome) if outcome.is_good() => TextSpan::new(TextTone::Good, format!("{arrow} ✓")),
        Some(_) => TextSpan::new(TextTone::Alarm, format!("{arrow} ✗")),
        None => TextSpan::new(TextTone::Plain, ""),
    };
    let unchecked = ReachabilityOutcome::Answered { mac_checked: false };
    let note = if link.directions().any(|found| found.outcome == unchecked) {
        "MAC addresses not compared"
    } else {
        ""
    };
    TableRow::Cells(
        2,
        vec![
            TextSpan::new(TextTone::Quiet, format!("rail {}", pair.rail)),
            mark("→", Some(link.there)),
            mark("←", link.back),
            TextSpan::new(TextTone::Plain, &pair.from.interface),
            TextSpan::new(TextTone::Plain, pair.from.address.to_string()),
            TextSpan::new(TextTone::Plain, &pair.to.interface),
            TextSpan::new(TextTone::Plain, pair.to.address.to_string()),
            TextSpan::new(TextTone::Quiet, note),
        ],
    )
}

fn reason(judged: &JudgedPair) -> Option<String> {
    match &judged.outcome {
        ReachabilityOutcome::Answered { .. } => None,
        ReachabilityOutcome::NoAnswer { why } => Some(why.clone()),
        ReachabilityOutcome::TooLarge {
            answered_bytes,
            cable,
        } => {
            let bytes = judged.pair.bytes.unwrap_or_default();
            let place = match cable {
                Some(cable) => format!("something on {cable}"),
                None => "something between them".to_owned(),
            };
            Some(format!(
                "answers at {answered_bytes} bytes, not at {bytes}: {place} has a smaller MTU"
            ))
        }
        ReachabilityOutcome::OtherPort {
            expected,
            found,
            interface,
        } => {
            let other = interface.as_deref().unwrap_or("nobody known");
            Some(format!(
                "answered at {found} ({other}) instead of {expected} ({}), and RDMA would go astray: crosstie explain \
                 wrong-neighbour",
                judged.pair.to.interface
            ))
        }
    }
}

/// The whole in one line.
pub fn verdict(proof: &ReachabilityProof) -> TextSpan {
    let all = proof.pairs.len();
    if all == 0 {
        let text = "nothing to prove: no two nodes have addresses in one subnet";
        return TextSpan::new(TextTone::Bad, text);
    }
    let count = |is_so: fn(&ReachabilityOutcome) -> bool| {
        let outcomes = proof.pairs.iter().map(|judged| &judged.outcome);
        outcomes.filter(|outcome| is_so(outcome)).count()
    };
    let silent = count(|outcome| matches!(outcome, ReachabilityOutcome::NoAnswer { .. }));
    let narrow = count(|outcome| matches!(outcome, ReachabilityOutcome::TooLarge { .. }));
    let astray = count(|outcome| matches!(outcome, ReachabilityOutcome::OtherPort { .. }));
    let unchecked =
        count(|outcome| *outcome == ReachabilityOutcome::Answered { mac_checked: false });
    if silent + narrow + astray > 0 {
        let parts = [
            (silent, "without an answer"),
            (narrow, "answered in smaller packets alone"),
            (astray, "answered by another port"),
        ];
        let parts: Vec<String> = parts
            .into_iter()
            .filter(|(number, _)| *number > 0)
            .map(|(number, what)| format!("{number} {what}"))
            .collect();
        let text = format!("of {all} directions {}", parts.join(", "));
        return TextSpan::new(TextTone::Alarm, text);
    }
    let sizes: BTreeSet<u32> = proof
        .pairs
        .iter()
        .filter_map(|judged| judged.pair.bytes)
        .collect();
    let size = match (sizes.first(), sizes.last()) {
        (Some(least), Some(most)) if least == most => format!(" at {most} bytes in one piece"),
        (Some(least), Some(most)) => format!(" at {least} to {most} bytes in one piece"),
        _ => String::new(),
    };
    let ports = match unchecked {
        0 => "each by the right port".to_owned(),
        number => format!("{} by the right port for certain", all - number),
    };
    TextSpan::new(
        TextTone::Good,
        format!("{all} directions answered{size}, {ports}"),
    )
}
