//! The last screen: what was found, changed and measured, and what comes next.

use std::collections::BTreeMap;

use crosstie_model::{Cable, Severity};

use super::{UpFinding, UpReport, UpStage, UpVerdict, findings::unexplained};
use crate::{
    change::NodeChangeOutcome,
    doctor::{FindingCounts, plural},
    prove,
    reachability::verdict,
    text::{Palette, TextSpan, TextTone, line, line_behind, with_remark},
};

/// Where the values begin.
const LABEL: usize = 10;

/// Nodes that are named one by one; of more, those that did not come through.
const MAX_NODES: usize = 12;

/// Paths below `home` are shown as `~`.
pub fn screen(up: &UpReport, home: Option<&str>, palette: Palette) -> String {
    let mut screen = Screen {
        palette,
        out: String::new(),
    };
    screen.spans(&[headline(up)]);
    screen.out.push('\n');
    found(up, &mut screen);
    changed(up, &mut screen);
    if let Some(proof) = &up.proof {
        screen.row("reachable", &[verdict(proof)]);
    }
    measured(up, &mut screen);
    left(up, &mut screen);
    settings(up, home, &mut screen);
    let page = up.measured.as_ref().and_then(|one| one.report.as_deref());
    if let Some(page) = page {
        screen.row(
            "report",
            &[TextSpan::new(TextTone::Plain, shortened(page, home))],
        );
    }
    for note in &up.notes {
        screen.row("note", &[TextSpan::new(TextTone::Bad, note)]);
    }
    times(up, &mut screen);
    let commands = [("rollback", &up.undo), ("next", &up.next)];
    if commands.iter().any(|(_, command)| command.is_some()) {
        screen.out.push('\n');
    }
    if let Some(half) = &up.half_configured {
        let sentence = format!("  {}", half.sentence());
        screen.spans(&[TextSpan::new(TextTone::Alarm, sentence)]);
    }
    for (label, command) in commands {
        if let Some(command) = command {
            screen.row(label, &[TextSpan::command(TextTone::Accent, command)]);
        }
    }
    screen.out
}

struct Screen {
    palette: Palette,
    out: String,
}

impl Screen {
    fn spans(&mut self, spans: &[TextSpan]) {
        line(self.palette, spans, &mut self.out);
    }

    fn row(&mut self, label: &str, values: &[TextSpan]) {
        let mut spans = vec![TextSpan::new(TextTone::Quiet, format!("  {label:<LABEL$}"))];
        spans.extend_from_slice(values);
        line_behind(self.palette, LABEL + 2, &spans, &mut self.out);
    }
}

fn headline(up: &UpReport) -> TextSpan {
    let name = up.cluster.as_deref().unwrap_or("the cluster");
    match &up.stopped {
        Some(stopped) if up.verdict == UpVerdict::NotProven => TextSpan::new(
            TextTone::Alarm,
            format!("✗ {name} is up, and not proven: {}", stopped.why),
        ),
        Some(stopped) => TextSpan::new(
            TextTone::Alarm,
            format!(
                "✗ {name} is not up. It ended at {}: {}",
                stopped.stage, stopped.why
            ),
        ),
        None if up.verdict == UpVerdict::Proven => {
            TextSpan::new(TextTone::Good, format!("✓ {name} is up, and proven"))
        }
        None => TextSpan::new(
            TextTone::Bad,
            format!("✓ {name} is up: reachable, not measured"),
        ),
    }
}

fn count(number: usize, noun: &str) -> String {
    plural(number, noun).unwrap_or_else(|| format!("no {noun}"))
}

fn found(up: &UpReport, screen: &mut Screen) {
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
    let file = TextSpan::new(TextTone::Quiet, format!("   {wrote} {}", up.file));
    screen.row(
        "found",
        &[TextSpan::new(TextTone::Plain, parts.join(", ")), file],
    );
}

fn changed(up: &UpReport, screen: &mut Screen) {
    let all = up.changes.len();
    let idle = up
        .changes
        .iter()
        .filter(|change| change.outcome == NodeChangeOutcome::Unchanged);
    if all > 0 && idle.count() == all {
        let text = "nothing: every node was as planned already";
        screen.row("changed", &[TextSpan::new(TextTone::Good, text)]);
        return;
    }
    let is_shown = |outcome: NodeChangeOutcome| all <= MAX_NODES || !outcome.is_fine();
    let shown = up.changes.iter().filter(|change| is_shown(change.outcome));
    let width = shown.clone().map(|change| change.node.chars().count());
    let width = width.max().unwrap_or(0);
    let mut label = "changed";
    for change in shown.clone() {
        let (tone, words) = change.words();
        let mut spans = vec![
            TextSpan::new(TextTone::Strong, format!("{:<width$}  ", change.node)),
            TextSpan::new(tone, words),
        ];
        if let Some(why) = &change.why {
            spans.push(TextSpan::new(TextTone::Plain, format!("  {why}")));
        }
        screen.row(label, &spans);
        label = "";
    }
    let hidden = all - shown.count();
    if hidden > 0 {
        let text = format!("{hidden} nodes as planned");
        screen.row(label, &[TextSpan::new(TextTone::Good, text)]);
    }
}

fn measured(up: &UpReport, screen: &mut Screen) {
    let Some(measured) = &up.measured else {
        return;
    };
    let words = match (&measured.prove, &measured.skipped) {
        (_, Some(why)) => TextSpan::new(TextTone::Bad, format!("nothing: {why}")),
        (Some(prove), None) => prove::verdict(prove),
        (None, None) => return,
    };
    screen.row("measured", &[words]);
}

/// By name, with the nodes that have it.
fn left(up: &UpReport, screen: &mut Screen) {
    // Where nothing was looked at after a change, what was found before stands.
    let seen = if up.proof.is_some() {
        &up.left
    } else {
        &up.findings
    };
    let mut by_name: BTreeMap<(Severity, &str), Vec<&UpFinding>> = BTreeMap::new();
    let alarms = unexplained(seen)
        .into_iter()
        .filter(|seen| seen.finding.severity != Severity::Info);
    // What the plan would have mended is there until it is carried out; a stop before that is about the others.
    let is_stopped_before = up
        .stopped
        .as_ref()
        .is_some_and(|stopped| stopped.stage < UpStage::Plan);
    let is_mended = is_stopped_before || up.was_changed();
    for found in alarms.filter(|seen| !(seen.will_be_fixed && is_mended)) {
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
            screen.row(
                label,
                &[TextSpan::new(TextTone::Good, "no faults, no warnings")],
            );
        }
        return;
    }
    let words = FindingCounts::of(&severities).words();
    let first = by_name.keys().next().map_or("", |(_, id)| *id).to_owned();
    for ((severity, id), seen) in by_name {
        let mut nodes: Vec<&str> = seen
            .iter()
            .map(|seen| seen.node.as_deref().unwrap_or(&seen.finding.subject))
            .collect();
        nodes.dedup();
        let nodes = match nodes.as_slice() {
            few if few.len() <= 4 => few.join(", "),
            many => format!("{} nodes", many.len()),
        };
        screen.row(
            label,
            &[
                TextSpan::new(crate::finding::tone(severity), format!("{severity:<9}")),
                TextSpan::new(TextTone::Strong, id),
                TextSpan::new(TextTone::Plain, format!("  {nodes}")),
            ],
        );
        label = "";
    }
    let hint = with_remark(format!("crosstie explain {first}"), "tells more");
    let mut spans = vec![TextSpan::new(TextTone::Quiet, format!("{words}: "))];
    spans.extend(TextSpan::offer(TextTone::Quiet, &hint));
    screen.row("", &spans);
}

fn settings(up: &UpReport, home: Option<&str>, screen: &mut Screen) {
    let files = up.environments.iter();
    let files: Vec<&str> = files.filter_map(|one| one.file.as_deref()).collect();
    let Some(first) = files.first() else {
        return;
    };
    let folder = first.rsplit_once('/').map_or(".", |(folder, _)| folder);
    let folder = shortened(folder, home);
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
        TextSpan::new(TextTone::Plain, format!("{folder}/")),
        TextSpan::new(TextTone::Quiet, format!("  {names}")),
    ];
    screen.row("settings", &spans);
}

fn shortened(path: &str, home: Option<&str>) -> String {
    let below = home.and_then(|home| path.strip_prefix(home));
    let below = below.filter(|below| below.starts_with('/'));
    below.map_or_else(|| path.to_owned(), |below| format!("~{below}"))
}

fn times(up: &UpReport, screen: &mut Screen) {
    let all: f64 = up.stages.iter().map(|timed| timed.seconds).sum();
    let parts = up.stages.iter();
    let parts: Vec<String> = parts
        .filter(|timed| timed.seconds >= 0.05 || timed.stage == UpStage::Scan)
        .map(|timed| format!("{} {:.1}", timed.stage, timed.seconds))
        .collect();
    let spans = [
        TextSpan::new(TextTone::Plain, format!("{all:.0} s")),
        TextSpan::new(TextTone::Quiet, format!("   {}", parts.join(" · "))),
    ];
    screen.row("took", &spans);
}
