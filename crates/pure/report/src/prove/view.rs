//! A run on a terminal: one table for a pair, a matrix for many, ledgers of what is low, findings.

use std::collections::{BTreeMap, HashSet};

use crosstie_model::Severity;

use super::{PairRow, ProveReport, RailsRow, ledger, ledger::figure, matrix::matrix};
use crate::{
    causes::{HostFindingRef, roots},
    compare,
    finding::{consequences, finding},
    text::{Palette, TableRow, TextSpan, TextTone, item, line, plain, quiet, strong, table},
};

pub fn view(prove: &ProveReport, palette: Palette) -> String {
    let mut out = String::new();
    if prove.pairs.is_empty() {
        findings(prove, palette, &mut out);
        for node in &prove.nodes {
            if let Some(why) = &node.lost {
                let text = format!("{}: {why}", node.host);
                item(palette, (TextTone::Bad, "✗ "), &text, &mut out);
            }
        }
        let text = "nothing could be measured";
        line(palette, &[TextSpan::new(TextTone::Alarm, text)], &mut out);
        return out;
    }
    if prove.nodes.len() == 2 {
        pair_table(prove, palette, &mut out);
    } else {
        matrix(prove, palette, &mut out);
    }
    // The worst one: its neighbours would say the same.
    let low = decisive(prove).filter(|pair| matches!(pair.verdict.as_str(), "fault" | "warning"));
    if let Some(worst) = low.min_by_key(|pair| pair.percent) {
        ledger::ledger(worst, palette, &mut out);
    }
    findings(prove, palette, &mut out);
    for change in &prove.changes {
        let text = format!(
            "{}: {}, {} → {}",
            compare::words(&change.what, &change.after),
            change.subject,
            change.before,
            change.after
        );
        item(palette, (TextTone::Accent, "~ "), &text, &mut out);
    }
    if !prove.changes.is_empty() {
        out.push('\n');
    }
    untested(prove, palette, &mut out);
    line(palette, &[verdict(prove)], &mut out);
    out
}

/// The whole in one line.
pub fn verdict(prove: &ProveReport) -> TextSpan {
    let decisive: Vec<&PairRow> = decisive(prove).collect();
    let count = |name: &str| {
        let alike = decisive.iter().filter(|pair| pair.verdict == name);
        alike.count()
    };
    let roots = prove
        .findings
        .iter()
        .filter(|found| found.finding.caused_by.is_none());
    let roots = roots
        .filter(|found| found.finding.severity != Severity::Info)
        .count();
    let (healthy, warning, fault, failed) = (
        count("healthy"),
        count("warning"),
        count("fault"),
        count("failed"),
    );
    let graded = healthy + warning + fault;
    let cut = if prove.finished {
        ""
    } else {
        "; the run was cut off"
    };
    if graded + failed == 0 {
        let why = prove.unmeasured();
        let why = why.map(|why| format!(": {why}")).unwrap_or_default();
        return TextSpan::new(TextTone::Bad, format!("nothing was graded{why}{cut}"));
    }
    if roots == 0 && fault + failed + warning == 0 {
        return TextSpan::new(
            TextTone::Good,
            format!("proven: {graded} of {graded} figures healthy{cut}"),
        );
    }
    let tone = if fault + failed > 0 {
        TextTone::Alarm
    } else {
        TextTone::Bad
    };
    let causes = match roots {
        1 => "1 cause".to_owned(),
        roots => format!("{roots} causes"),
    };
    let text = format!(
        "{healthy} healthy, {warning} warnings, {fault} faults, {failed} not measured; {causes}{cut}"
    );
    TextSpan::new(tone, text)
}

/// Of what was measured again alone, that; of everything else, what there is.
fn decisive(prove: &ProveReport) -> impl Iterator<Item = &PairRow> {
    let key = |pair: &PairRow| -> (String, String, u32, String) {
        (
            pair.from.clone(),
            pair.to.clone(),
            pair.rail,
            pair.kind.clone(),
        )
    };
    let alone: HashSet<_> = prove
        .pairs
        .iter()
        .filter(|pair| pair.phase == "solo")
        .map(key)
        .collect();
    let pairs = prove.pairs.iter();
    pairs.filter(move |pair| pair.phase != "round" || !alone.contains(&key(pair)))
}

pub(super) fn tone(verdict: &str) -> TextTone {
    match verdict {
        "healthy" => TextTone::Good,
        "warning" => TextTone::Bad,
        "fault" | "failed" => TextTone::Alarm,
        _ => TextTone::Quiet,
    }
}

/// What is the same in both directions is one line.
type Key<'a> = (&'a str, &'a str, u32, Option<u64>);

fn pair_table(prove: &ProveReport, palette: Palette, out: &mut String) {
    let [a, b] = prove.nodes.as_slice() else {
        return;
    };
    let mut order: Vec<Key> = Vec::new();
    let mut rows: BTreeMap<Key, [Option<&PairRow>; 2]> = BTreeMap::new();
    for pair in &prove.pairs {
        let key = (
            pair.kind.as_str(),
            pair.phase.as_str(),
            pair.rail,
            pair.size,
        );
        let both = rows.entry(key).or_insert_with(|| {
            order.push(key);
            [None, None]
        });
        both[usize::from(pair.from != a.host)] = Some(pair);
    }
    let head = [
        "test".to_owned(),
        "rail".to_owned(),
        format!("{} → {}", a.host, b.host),
        format!("{} → {}", b.host, a.host),
        "ceiling".to_owned(),
    ];
    if let Some(units) = units(prove) {
        line(palette, &[quiet(units)], out);
    }
    let mut lines = vec![TableRow::Cells(2, head.iter().map(quiet).collect())];
    for key in order {
        let (kind, phase, rail, _) = key;
        let phase = if matches!(phase, "solo" | "round") {
            String::new()
        } else {
            format!(", {phase}")
        };
        let both = rows[&key];
        let ceiling = both.iter().flatten().find_map(|pair| pair.ceiling_gbps);
        let mut cells = vec![plain(format!("{kind}{phase}")), plain(rail.to_string())];
        cells.extend(both.map(cell));
        cells.push(quiet(ceiling.map_or_else(String::new, figure)));
        lines.push(TableRow::Cells(2, cells));
    }
    let sum = |from: &str| prove.rails.iter().find(|sum| sum.from == from);
    let sums = [sum(&a.host), sum(&b.host)];
    if sums.iter().any(Option::is_some) {
        let shown = |sum: Option<&RailsRow>| {
            let Some(sum) = sum else { return plain("") };
            let percent = sum
                .percent
                .map_or_else(String::new, |percent| format!(", {percent} %"));
            TextSpan::new(tone(&sum.verdict), format!("{}{percent}", figure(sum.gbps)))
        };
        let ceiling = sums.iter().flatten().find_map(|sum| sum.ceiling_gbps);
        let mut cells = vec![strong("all rails"), plain("")];
        cells.extend(sums.map(shown));
        cells.push(quiet(ceiling.map_or_else(String::new, figure)));
        lines.push(TableRow::Cells(2, cells));
    }
    table(palette, &lines, out);
    out.push('\n');
    let failures = prove.pairs.iter().filter(|pair| pair.verdict == "failed");
    for pair in failures {
        let why = pair.reason.as_deref().unwrap_or("no figure");
        let PairRow {
            from,
            to,
            rail,
            kind,
            ..
        } = pair;
        let text = format!("{from} → {to}, rail {rail}, {kind}: {why}");
        item(palette, (TextTone::Alarm, "✗ "), &text, out);
    }
    not_applicable(prove, palette, out);
}

/// Of the table's figures.
fn units(prove: &ProveReport) -> Option<&'static str> {
    let mut pairs = prove.pairs.iter();
    let has_bandwidth = pairs.clone().any(|pair| pair.gbps.is_some());
    let has_latency = pairs.any(|pair| pair.latency_us.is_some());
    match (has_bandwidth, has_latency) {
        (true, true) => Some("bandwidth in Gb/s and percent of the ceiling, latency in µs"),
        (true, false) => Some("bandwidth in Gb/s and percent of the ceiling"),
        (false, true) => Some("latency in µs"),
        (false, false) => None,
    }
}

/// Why tests were not made, those with the same reason together.
fn not_applicable(prove: &ProveReport, palette: Palette, out: &mut String) {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    let pairs = prove.pairs.iter();
    for pair in pairs.filter(|pair| pair.verdict == "not-applicable") {
        let Some(why) = pair.reason.as_deref() else {
            continue;
        };
        match reasons.iter_mut().find(|(reason, _)| *reason == why) {
            Some((_, kinds)) if kinds.contains(&&*pair.kind) => {}
            Some((_, kinds)) => kinds.push(&pair.kind),
            None => reasons.push((why, vec![&pair.kind])),
        }
    }
    for (why, kinds) in reasons {
        let text = format!("{}, not applicable: {why}", kinds.join(", "));
        item(palette, (TextTone::Quiet, "· "), &text, out);
    }
}

fn cell(pair: Option<&PairRow>) -> TextSpan {
    let Some(pair) = pair else { return plain("") };
    let tone = tone(&pair.verdict);
    match (&pair.latency_us, pair.gbps) {
        (Some(latency), _) => TextSpan::new(
            TextTone::Plain,
            format!("{:.2} µs, p99.9 {:.2}", latency.p50, latency.p999),
        ),
        (None, Some(gbps)) => match pair.percent.filter(|_| pair.verdict != "not-graded") {
            Some(percent) => TextSpan::new(tone, format!("{}, {percent} %", figure(gbps))),
            None => TextSpan::new(TextTone::Plain, figure(gbps)),
        },
        (None, None) => match pair.verdict.as_str() {
            "failed" => TextSpan::new(tone, "not measured"),
            "not-applicable" => TextSpan::new(tone, "not applicable"),
            _ => TextSpan::new(TextTone::Good, "✓"),
        },
    }
}

/// What to mend; what follows from it is counted, and what is only worth knowing is left to the doctor.
fn findings(prove: &ProveReport, palette: Palette, out: &mut String) {
    let found = prove.findings.iter();
    let found: Vec<HostFindingRef> = found
        .map(|found| (found.host.as_deref(), &found.finding))
        .collect();
    for root in roots(&found) {
        if root.severity() == Severity::Info {
            continue;
        }
        if !root.hosts.is_empty() {
            line(palette, &[strong(root.hosts.join(", "))], out);
        }
        finding(root.finding, palette, out);
        consequences(&root, "--json", palette, out);
    }
}

fn untested(prove: &ProveReport, palette: Palette, out: &mut String) {
    let paths = &prove.untested;
    if paths.untested == 0 {
        return;
    }
    let named: Vec<String> = paths
        .examples
        .iter()
        .map(|[a, b]| format!("{a} – {b}"))
        .collect();
    let more = if paths.untested > named.len() as u64 {
        ", …"
    } else {
        ""
    };
    let text = format!(
        "{} of {} paths were not tested: {}{more} (prove --full tests all)",
        paths.untested,
        paths.paths,
        named.join(", ")
    );
    item(palette, (TextTone::Quiet, "· "), &text, out);
    out.push('\n');
}
