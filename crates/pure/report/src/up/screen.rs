//! The last screen: what was found, changed and measured, and what comes next.

use std::collections::BTreeMap;

use crosstie_model::{Cable, Severity};

use super::{Seen, Up, UpStage, findings::unexplained};
use crate::{
    change::Outcome,
    doctor::{Count, plural},
    proof::verdict,
    text::{Palette, Span, Tone, line},
};

/// Where the values begin.
const LABEL: usize = 10;

/// Nodes that are named one by one; of more, those that did not come through.
const MOST: usize = 12;

/// Paths below `home` are shown as `~`.
pub fn screen(up: &Up, home: Option<&str>, palette: Palette) -> String {
    let mut screen = Screen {
        palette,
        out: String::new(),
    };
    screen.spans(&[headline(up)]);
    screen.out.push('\n');
    found(up, &mut screen);
    changed(up, &mut screen);
    if let Some(proof) = &up.proof {
        screen.row("proven", &[verdict(proof)]);
    }
    left(up, &mut screen);
    settings(up, home, &mut screen);
    for note in &up.notes {
        screen.row("note", &[Span::new(Tone::Bad, note)]);
    }
    times(up, &mut screen);
    let commands = [("undo", &up.undo), ("next", &up.next)];
    if commands.iter().any(|(_, command)| command.is_some()) {
        screen.out.push('\n');
    }
    if let Some(half) = &up.half_configured {
        let sentence = format!("  {}", half.sentence());
        screen.spans(&[Span::new(Tone::Alarm, sentence)]);
    }
    for (label, command) in commands {
        if let Some(command) = command {
            screen.row(label, &[Span::new(Tone::Accent, command)]);
        }
    }
    screen.out
}

struct Screen {
    palette: Palette,
    out: String,
}

impl Screen {
    fn spans(&mut self, spans: &[Span]) {
        line(self.palette, spans, &mut self.out);
    }

    fn row(&mut self, label: &str, values: &[Span]) {
        let mut spans = vec![Span::new(Tone::Quiet, format!("  {label:<LABEL$}"))];
        spans.extend_from_slice(values);
        self.spans(&spans);
    }
}

fn headline(up: &Up) -> Span {
    let name = up.cluster.as_deref().unwrap_or("the cluster");
    match &up.stopped {
        Some(stopped) => Span::new(
            Tone::Alarm,
            format!(
                "✗ {name} is not up. It ended at {}: {}",
                stopped.stage, stopped.why
            ),
        ),
        None => Span::new(Tone::Good, format!("✓ {name} is up, and proven")),
    }
}

fn count(number: usize, noun: &str) -> String {
    plural(number, noun).unwrap_or_else(|| format!("no {noun}"))
}

fn found(up: &Up, screen: &mut Screen) {
    let Some(cabling) = &up.cabling else {
        return;
    };
    let cages: usize = cabling.nodes.iter().map(|node| node.cages.len()).sum();
    let direct = |cable: &&Cable| matches!(cable, Cable::Direct { .. });
    let between = cabling.cables.iter().filter(direct).count();
    let mut parts = vec![count(cabling.nodes.len(), "node"), count(cages, "cage")];
    let switched = cabling.cables.len() - between;
    if between > 0 || switched == 0 {
        parts.push(count(between, "cable"));
    }
    if switched > 0 {
        parts.push(format!("{} to switches", count(switched, "cable")));
    }
    let wrote = if cabling.written { "written to" } else { "in" };
    let file = Span::new(Tone::Quiet, format!("   {wrote} {}", up.file));
    screen.row("found", &[Span::new(Tone::Plain, parts.join(", ")), file]);
}

fn changed(up: &Up, screen: &mut Screen) {
    let all = up.changes.len();
    let idle = up
        .changes
        .iter()
        .filter(|change| change.outcome == Outcome::Unchanged);
    if all > 0 && idle.count() == all {
        let text = "nothing: every node was as planned already";
        screen.row("changed", &[Span::new(Tone::Good, text)]);
        return;
    }
    let is_shown = |outcome: Outcome| all <= MOST || !outcome.is_fine();
    let shown = up.changes.iter().filter(|change| is_shown(change.outcome));
    let width = shown.clone().map(|change| change.node.chars().count());
    let width = width.max().unwrap_or(0);
    let mut label = "changed";
    for change in shown.clone() {
        let (tone, words) = change.words();
        let mut spans = vec![
            Span::new(Tone::Strong, format!("{:<width$}  ", change.node)),
            Span::new(tone, words),
        ];
        if let Some(why) = &change.why {
            spans.push(Span::new(Tone::Plain, format!("  {why}")));
        }
        screen.row(label, &spans);
        label = "";
    }
    let hidden = all - shown.count();
    if hidden > 0 {
        let text = format!("{hidden} nodes as planned");
        screen.row(label, &[Span::new(Tone::Good, text)]);
    }
}

/// By name, with the nodes that have it.
fn left(up: &Up, screen: &mut Screen) {
    // Where nothing was looked at after a change, what was found before stands.
    let seen = if up.proof.is_some() {
        &up.left
    } else {
        &up.findings
    };
    let mut by_name: BTreeMap<(Severity, &str), Vec<&Seen>> = BTreeMap::new();
    let alarms = unexplained(seen)
        .into_iter()
        .filter(|seen| seen.finding.severity != Severity::Info);
    for found in alarms.filter(|seen| !seen.will_be_fixed) {
        let key = (found.finding.severity, found.finding.id.as_str());
        by_name.entry(key).or_default().push(found);
    }
    let severities = by_name.iter();
    let severities: Vec<Severity> = severities
        .flat_map(|((severity, _), seen)| seen.iter().map(|_| *severity))
        .collect();
    let mut label = if up.proof.is_some() { "left" } else { "wrong" };
    if by_name.is_empty() {
        if up.proof.is_some() {
            screen.row(label, &[Span::new(Tone::Good, "no faults, no warnings")]);
        }
        return;
    }
    let words = Count::of(&severities).words();
    for ((severity, id), seen) in by_name {
        let mut nodes: Vec<&str> = seen
            .iter()
            .map(|seen| seen.node.as_deref().unwrap_or("between nodes"))
            .collect();
        nodes.dedup();
        let nodes = match nodes.as_slice() {
            few if few.len() <= 4 => few.join(", "),
            many => format!("{} nodes", many.len()),
        };
        screen.row(
            label,
            &[
                Span::new(crate::finding::tone(severity), format!("{severity:<9}")),
                Span::new(Tone::Strong, id),
                Span::new(Tone::Plain, format!("  {nodes}")),
            ],
        );
        label = "";
    }
    let text = format!("{words}: crosstie explain NAME tells more");
    screen.row("", &[Span::new(Tone::Quiet, text)]);
}

fn settings(up: &Up, home: Option<&str>, screen: &mut Screen) {
    let files = up.environments.iter();
    let files: Vec<&str> = files.filter_map(|one| one.file.as_deref()).collect();
    let Some(first) = files.first() else {
        return;
    };
    let folder = first.rsplit_once('/').map_or(".", |(folder, _)| folder);
    let below = home.and_then(|home| folder.strip_prefix(home));
    let below = below.filter(|below| below.starts_with('/'));
    let folder = below.map_or_else(|| folder.to_owned(), |below| format!("~{below}"));
    let names: Vec<&str> = files
        .iter()
        .map(|file| file.rsplit_once('/').map_or(*file, |(_, name)| name))
        .collect();
    let names = match names.as_slice() {
        few if few.len() <= 4 => few.join(", "),
        [first, .., last] => format!("{first} … {last}"),
        _ => String::new(),
    };
    let spans = [
        Span::new(Tone::Plain, format!("{folder}/")),
        Span::new(Tone::Quiet, format!("  {names}")),
    ];
    screen.row("settings", &spans);
}

fn times(up: &Up, screen: &mut Screen) {
    let all: f64 = up.stages.iter().map(|timed| timed.seconds).sum();
    let parts = up.stages.iter();
    let parts: Vec<String> = parts
        .filter(|timed| timed.seconds >= 0.05 || timed.stage == UpStage::Scan)
        .map(|timed| format!("{} {:.1}", timed.stage, timed.seconds))
        .collect();
    let spans = [
        Span::new(Tone::Plain, format!("{all:.0} s")),
        Span::new(Tone::Quiet, format!("   {}", parts.join(" · "))),
    ];
    screen.row("took", &spans);
}
