//! The plan in a few lines, for whoever is asked whether to carry it out.

use std::collections::BTreeMap;

use crosstie_model::{
    ClusterPlan, NodePlan, PlanStep,
    plan::{FabricAddress, FileChange, SummaryGroup},
};

use super::view::{of_switch, peers, refused, verdict};
use crate::{
    doctor::plural,
    text::{Palette, TableRow, TextSpan, TextTone, item, line, line_behind, table},
};

/// Where the values begin.
const LABEL: usize = 14;
/// Addresses that are shown one by one; the diff has all of them.
const MAX_ADDRESSES: usize = 16;
/// Nodes that are named.
const MAX_NAMED: usize = 4;

/// What is done, counted; what is refused and what there is to know, at length.
pub fn summary(plan: &ClusterPlan, palette: Palette) -> String {
    let mut out = String::new();
    let working: Vec<&NodePlan> = plan
        .nodes
        .iter()
        .filter(|node| steps_by_kind(node))
        .collect();
    for node in plan.nodes.iter().filter(|node| !node.refusals.is_empty()) {
        refused(node, palette, &mut out);
    }
    if !working.is_empty() {
        let names: Vec<&str> = working.iter().map(|node| node.node.as_str()).collect();
        let verb = if plan.is_refused() {
            "would change"
        } else {
            "will change"
        };
        let spans = [
            TextSpan::new(TextTone::Strong, named(&names)),
            TextSpan::new(TextTone::Plain, format!(" {verb}")),
        ];
        line(palette, &spans, &mut out);
        let rows = [
            ("files", files(&working)),
            ("sysctls", sysctls(&working)),
            ("interfaces", interfaces(&working)),
        ];
        for (label, text) in rows {
            if let Some(text) = text {
                labelled(label, &text, palette, &mut out);
            }
        }
        for (text, nodes) in others(&working) {
            let on = if nodes.len() == working.len() {
                String::new()
            } else {
                format!(" ({})", named(&nodes))
            };
            labelled("also", &format!("{text}{on}"), palette, &mut out);
        }
        addresses(&working, palette, &mut out);
        out.push('\n');
    }
    notes(plan, palette, &mut out);
    if plan.has_work() {
        for switch in &plan.switches {
            of_switch(switch, palette, &mut out);
        }
    }
    if plan.is_refused() || working.len() < plan.nodes.len() {
        line(palette, &[verdict(plan, 0)], &mut out);
    }
    out
}

fn steps_by_kind(node: &NodePlan) -> bool {
    node.refusals.is_empty() && !node.steps.is_empty()
}

/// All of a few, the number of many.
fn named(names: &[&str]) -> String {
    match names {
        [a, b] => format!("{a} and {b}"),
        few if few.len() <= MAX_NAMED => few.join(", "),
        many => format!("{} nodes", many.len()),
    }
}

fn labelled(label: &str, text: &str, palette: Palette, out: &mut String) {
    let spans = [
        TextSpan::new(TextTone::Quiet, format!("  {label:<0$}", LABEL - 2)),
        TextSpan::new(TextTone::Plain, text),
    ];
    line_behind(palette, LABEL, &spans, out);
}

fn changed_files(node: &NodePlan) -> impl Iterator<Item = &FileChange> {
    node.steps.iter().flat_map(PlanStep::files)
}

/// What becomes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fate {
    New,
    Changed,
    Removed,
}

/// Absent for a file that is only renamed.
fn fate(change: &FileChange) -> Option<(&str, Fate)> {
    match change {
        FileChange::Whole { path, text, .. } | FileChange::Block { path, text, .. } => {
            let fate = match (&text.from, &text.to) {
                (None, _) if matches!(change, FileChange::Whole { .. }) => Fate::New,
                (_, None) if matches!(change, FileChange::Whole { .. }) => Fate::Removed,
                _ => Fate::Changed,
            };
            Some((path, fate))
        }
        FileChange::Aside { .. } => None,
    }
}

/// `9 new, the same on both nodes but /etc/netplan/90-crosstie.yaml`
fn files(nodes: &[&NodePlan]) -> Option<String> {
    let mut by_path: BTreeMap<&str, Vec<&FileChange>> = BTreeMap::new();
    let mut counts: BTreeMap<Fate, usize> = BTreeMap::new();
    for change in nodes.iter().flat_map(|node| changed_files(node)) {
        if let Some((path, fate)) = fate(change) {
            let changes = by_path.entry(path).or_default();
            if changes.is_empty() {
                *counts.entry(fate).or_default() += 1;
            }
            changes.push(change);
        }
    }
    let counted = counts.iter().map(|(fate, count)| match fate {
        Fate::New => format!("{count} new"),
        Fate::Changed => format!("{count} changed"),
        Fate::Removed => format!("{count} removed"),
    });
    let counted: Vec<String> = counted.collect();
    if counted.is_empty() {
        return None;
    }
    let differs = |changes: &&Vec<&FileChange>| {
        changes.len() < nodes.len() || changes.iter().any(|change| *change != changes[0])
    };
    let different: Vec<&str> = by_path
        .iter()
        .filter(|(_, changes)| differs(changes))
        .map(|(path, _)| *path)
        .collect();
    let all = by_path.len();
    let alike = match (nodes.len(), different.as_slice()) {
        (1, _) => String::new(),
        (_, different) if different.len() == all => ", on each node its own".to_owned(),
        (2, []) => ", the same on both nodes".to_owned(),
        (_, []) => ", the same on all nodes".to_owned(),
        (count, different) => {
            let nodes = if count == 2 { "both" } else { "all" };
            let but = match different {
                few if few.len() <= 2 => few.join(" and "),
                many => format!("{} of them", many.len()),
            };
            format!(", the same on {nodes} nodes but {but}")
        }
    };
    Some(format!("{}{alike}", counted.join(", ")))
}

/// Of the node that has most, where they are not alike.
fn each(nodes: &[&NodePlan], count: impl Fn(&NodePlan) -> usize) -> Option<String> {
    let counts = || nodes.iter().map(|node| count(node));
    let (least, most) = (counts().min()?, counts().max()?);
    match (least, most, nodes.len()) {
        (_, 0, _) => None,
        (_, most, 1) => Some(most.to_string()),
        (least, most, _) if least == most => Some(format!("{most} on each node")),
        (least, most, _) => Some(format!("{least} to {most} a node")),
    }
}

fn sysctls(nodes: &[&NodePlan]) -> Option<String> {
    let is_one = |step: &&PlanStep| step.shown_as() == SummaryGroup::Sysctl;
    let count = each(nodes, |node| node.steps.iter().filter(is_one).count())?;
    Some(format!("{count} set"))
}

fn interfaces(nodes: &[&NodePlan]) -> Option<String> {
    let configured = |step: &PlanStep| step.interface_changes().count();
    let count = each(nodes, |node| node.steps.iter().map(configured).sum())?;
    Some(format!("{count} configured anew"))
}

/// Everything else in words, and the nodes that it is done on.
fn others<'a>(nodes: &[&'a NodePlan]) -> Vec<(String, Vec<&'a str>)> {
    let mut found: Vec<(String, Vec<&str>)> = Vec::new();
    for node in nodes {
        let steps = node.steps.iter();
        let steps = steps.filter(|step| step.shown_as() == SummaryGroup::Words);
        let renamed = changed_files(node).filter_map(FileChange::words);
        for text in renamed.chain(steps.flat_map(PlanStep::words)) {
            match found.iter_mut().find(|(told, _)| *told == text) {
                Some((_, nodes)) => nodes.push(&node.node),
                None => found.push((text, vec![&node.node])),
            }
        }
    }
    found
}

fn addresses(nodes: &[&NodePlan], palette: Palette, out: &mut String) {
    let all: Vec<(&str, &FabricAddress)> = nodes
        .iter()
        .flat_map(|node| {
            let addresses = node.addresses.iter();
            addresses.map(|address| (node.node.as_str(), address))
        })
        .collect();
    let mut before = "";
    let rows = all.iter().take(MAX_ADDRESSES).map(|(node, address)| {
        let name = if *node == before { "" } else { node };
        before = node;
        let cells = vec![
            TextSpan::new(TextTone::Strong, name),
            TextSpan::new(TextTone::Plain, &address.interface),
            TextSpan::new(TextTone::Plain, address.address.to_string()),
            TextSpan::new(TextTone::Quiet, peers(&address.peers)),
        ];
        TableRow::Cells(4, cells)
    });
    let rows: Vec<TableRow> = rows.collect();
    table(palette, &rows, out);
    if let Some(more) = plural(all.len().saturating_sub(MAX_ADDRESSES), "more address") {
        let more = more.replace("addresss", "addresses");
        let text = format!("    and {more}");
        line(palette, &[TextSpan::new(TextTone::Quiet, text)], out);
    }
}

/// What several nodes are told in the same words, once.
fn notes(plan: &ClusterPlan, palette: Palette, out: &mut String) {
    let mut told: Vec<(&str, Vec<&str>)> = Vec::new();
    for node in plan.nodes.iter().filter(|node| node.refusals.is_empty()) {
        for note in &node.notes {
            match told.iter_mut().find(|(text, _)| text == note) {
                Some((_, nodes)) => nodes.push(&node.node),
                None => told.push((note, vec![&node.node])),
            }
        }
    }
    for (note, nodes) in &told {
        let text = format!("{}: {note}", named(nodes));
        item(palette, (TextTone::Bad, "note: "), &text, out);
    }
    if !told.is_empty() {
        out.push('\n');
    }
}
