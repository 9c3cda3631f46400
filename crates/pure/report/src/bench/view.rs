//! Figures for people.

mod figures;

use std::collections::BTreeSet;

use super::{
    BenchReport, CounterFinding, CounterFindingKind, MeasuredValue, RailResult, VerifiedData,
};
use crate::{
    finding::finding,
    text::{Palette, TableRow, TextSpan, TextTone, item, line, table},
};

/// Two places, or more where two would make nothing of it.
fn rate(figure: f64) -> String {
    let places = match figure {
        0.0 | 0.01.. => 2,
        0.0001.. => 4,
        _ => 6,
    };
    format!("{figure:.places$}")
}

/// A table of figures, then why some are missing or doubtful.
pub fn view(bench: &BenchReport, palette: Palette) -> String {
    let mut out = String::new();
    figures::view(bench, palette, &mut out);
    for rail in &bench.rails {
        sweep(bench, rail, palette, &mut out);
    }
    data(bench, palette, &mut out);
    if !bench.peers.is_empty() {
        out.push('\n');
        let head = ["test", "Gb/s", "by another tool"].map(quiet).to_vec();
        let rows = bench.peers.iter().map(|peer| {
            let figure = match &peer.gbps {
                MeasuredValue::Measured(gbps) => TextSpan::new(TextTone::Strong, rate(*gbps)),
                MeasuredValue::NotMeasured(why) => TextSpan::new(TextTone::Bad, why),
            };
            TableRow::Cells(
                2,
                vec![
                    TextSpan::new(TextTone::Plain, &peer.test),
                    figure,
                    quiet(&peer.command),
                ],
            )
        });
        let rows: Vec<TableRow> = std::iter::once(TableRow::Cells(2, head))
            .chain(rows)
            .collect();
        table(palette, &rows, &mut out);
    }
    let failures = bench.failures();
    let is_silent = failures.is_empty() && bench.doubts.is_empty();
    if !is_silent || !bench.counter_findings.is_empty() {
        out.push('\n');
    }
    for why in failures {
        item(palette, (TextTone::Alarm, "✗ "), why, &mut out);
    }
    for (mark, text) in counter_lines(&bench.counter_findings) {
        item(palette, mark, &text, &mut out);
    }
    for doubt in &bench.doubts {
        item(palette, (TextTone::Bad, "! "), doubt, &mut out);
    }
    for found in &bench.findings {
        out.push('\n');
        line(
            palette,
            &[TextSpan::new(TextTone::Strong, &found.host)],
            &mut out,
        );
        finding(&found.finding, palette, &mut out);
    }
    out
}

/// A counter of a node once, with the test in which it grew most: the same one tends to grow in every test, and one of the
/// whole host is found on each of its ports.
fn counter_lines(findings: &[CounterFinding]) -> Vec<((TextTone, &'static str), String)> {
    let mut groups: Vec<Vec<&CounterFinding>> = Vec::new();
    for found in findings {
        let alike = |group: &&mut Vec<&CounterFinding>| {
            let first = group[0];
            (first.kind, &first.node, &first.counter) == (found.kind, &found.node, &found.counter)
        };
        match groups.iter_mut().find(alike) {
            Some(group) => group.push(found),
            None => groups.push(vec![found]),
        }
    }
    let lines = groups.iter().filter_map(|group| {
        // Of equals the first.
        let worst = group.iter().rev().max_by_key(|found| found.counted)?;
        let same = group
            .iter()
            .filter(|found| found.run == worst.run && found.text == worst.text);
        let mut ports: Vec<&str> = same.map(|found| found.port.as_str()).collect();
        ports.dedup();
        let runs: BTreeSet<&str> = group.iter().map(|found| found.run.as_str()).collect();
        let more = match runs.len() - 1 {
            0 => String::new(),
            1 => "; it grew in another test, too".to_owned(),
            more => format!("; it grew in {more} other tests, too"),
        };
        let mark = match worst.kind {
            CounterFindingKind::Error | CounterFindingKind::Bytes => (TextTone::Bad, "! "),
            CounterFindingKind::Held => (TextTone::Quiet, "· "),
        };
        let (run, node, text) = (&worst.run, &worst.node, &worst.text);
        let ports = ports.join(", ");
        Some((mark, format!("{run}: {node} {ports}: {text}{more}")))
    });
    lines.collect()
}

/// One row a size.
fn sweep(bench: &BenchReport, rail: &RailResult, palette: Palette, out: &mut String) {
    let Some(sweep) = &rail.sweep else {
        return;
    };
    let [near, far] = &bench.nodes;
    let (there, back) = (sweep.there.measured(), sweep.back.measured());
    let sizes = there.or(back).into_iter().flatten().map(|one| one.size);
    let title = format!("{}, size by size", name(&rail.devices));
    out.push('\n');
    line(palette, &[quiet(title)], out);
    let mut head = vec![quiet("bytes")];
    for way in [format!("{near} → {far}"), format!("{far} → {near}")] {
        head.extend([quiet(way), quiet("messages/s")]);
    }
    let mut rows = vec![TableRow::Cells(2, head)];
    for size in sizes {
        let mut cells = vec![TextSpan::new(TextTone::Plain, size.to_string())];
        for way in [there, back] {
            let found = way.and_then(|way| way.iter().find(|one| one.size == size));
            match found {
                Some(one) => {
                    cells.push(TextSpan::new(TextTone::Strong, rate(one.gbps)));
                    cells.push(TextSpan::new(
                        TextTone::Plain,
                        format!("{:.0}", one.messages_per_second.unwrap_or_default()),
                    ));
                }
                None => cells.extend([not_measured(), quiet("")]),
            }
        }
        rows.push(TableRow::Cells(2, cells));
    }
    table(palette, &rows, out);
}

/// One line a rail: what was looked at, and how much of it was wrong.
fn data(bench: &BenchReport, palette: Palette, out: &mut String) {
    let rails = bench
        .rails
        .iter()
        .filter_map(|rail| Some((name(&rail.devices), rail.data.as_ref()?)));
    let all = bench.all_rails.as_ref().and_then(|all| all.data.as_ref());
    let all = all.map(|data| ("all rails at once".to_owned(), data));
    let mut rows = Vec::new();
    for (name, both) in rails.chain(all) {
        let mut cells = vec![TextSpan::new(TextTone::Plain, name)];
        cells.extend([&both.there, &both.back].map(looked_at));
        rows.push(TableRow::Cells(2, cells));
    }
    if rows.is_empty() {
        return;
    }
    out.push('\n');
    line(
        palette,
        &[quiet("data: every byte looked at where it came to")],
        out,
    );
    table(palette, &rows, out);
}

fn looked_at(cell: &MeasuredValue<Vec<VerifiedData>>) -> TextSpan {
    let Some(all) = cell.measured() else {
        return not_measured();
    };
    let wrong: u64 = all.iter().map(|one| one.wrong_bytes).sum();
    let bytes: u64 = all.iter().map(|one| one.bytes).sum();
    let tone = if wrong == 0 {
        TextTone::Good
    } else {
        TextTone::Alarm
    };
    TextSpan::new(tone, format!("{wrong} of {bytes} bytes wrong"))
}

/// A rail by its devices or interfaces at both ends.
fn name([near, far]: &[String; 2]) -> String {
    if near == far {
        near.clone()
    } else {
        format!("{near} – {far}")
    }
}

fn quiet(text: impl AsRef<str>) -> TextSpan {
    TextSpan::new(TextTone::Quiet, text)
}

fn not_measured() -> TextSpan {
    TextSpan::new(TextTone::Bad, "not measured")
}

impl<T> MeasuredValue<T> {
    fn span(&self, text: impl Fn(&T) -> String) -> TextSpan {
        self.measured().map_or_else(not_measured, |value| {
            TextSpan::new(TextTone::Strong, text(value))
        })
    }
}

#[cfg(test)]
mod tests;
