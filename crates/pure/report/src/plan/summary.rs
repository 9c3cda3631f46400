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
            let text = format!("{text}{}", on(&nodes, &working));
            labelled("also", &text, palette, &mut out);
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
    let with: Vec<&str> = nodes
        .iter()
        .filter(|node| changed_files(node).any(|change| fate(change).is_some()))
        .map(|node| node.node.as_str())
        .collect();
    let differs = |changes: &&Vec<&FileChange>| {
        changes.len() < with.len() || changes.iter().any(|change| *change != changes[0])
    };
    let different: Vec<&str> = by_path
        .iter()
        .filter(|(_, changes)| differs(changes))
        .map(|(path, _)| *path)
        .collect();
    let all = by_path.len();
    let alike = match (with.len(), different.as_slice()) {
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
    Some(format!("{}{alike}{}", counted.join(", "), on(&with, nodes)))
}

/// `4 on each node set`; the least and the most where they are not alike, and the nodes where it is none on others.
fn each(nodes: &[&NodePlan], done: &str, count: impl Fn(&NodePlan) -> usize) -> Option<String> {
    let counted = nodes.iter().map(|node| (node.node.as_str(), count(node)));
    let counted: Vec<(&str, usize)> = counted.filter(|(_, count)| *count > 0).collect();
    let with: Vec<&str> = counted.iter().map(|(node, _)| *node).collect();
    let counts = || counted.iter().map(|(_, count)| *count);
    let (least, most) = (counts().min()?, counts().max()?);
    let each = match (least, most, with.len()) {
        (_, most, 1) => most.to_string(),
        (least, most, _) if least == most => format!("{most} on each node"),
        (least, most, _) => format!("{least} to {most} a node"),
    };
    Some(format!("{each} {done}{}", on(&with, nodes)))
}

/// The nodes, where it is not all of them.
fn on(with: &[&str], nodes: &[&NodePlan]) -> String {
    if with.len() == nodes.len() {
        String::new()
    } else {
        format!(" ({})", named(with))
    }
}

fn sysctls(nodes: &[&NodePlan]) -> Option<String> {
    let is_one = |step: &&PlanStep| step.shown_as() == SummaryGroup::Sysctl;
    each(nodes, "set", |node| {
        node.steps.iter().filter(is_one).count()
    })
}

fn interfaces(nodes: &[&NodePlan]) -> Option<String> {
    let configured = |step: &PlanStep| step.interface_changes().count();
    each(nodes, "configured anew", |node| {
        node.steps.iter().map(configured).sum()
    })
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

#[cfg(test)]
mod tests {
    use crosstie_model::plan::{Configure, FileMode, Sysctl, ValueChange};

    use super::*;

    fn node(name: &str, steps: Vec<PlanStep>) -> NodePlan {
        NodePlan {
            node: name.to_owned(),
            basis: String::new(),
            refusals: Vec::new(),
            steps,
            notes: Vec::new(),
            addresses: Vec::new(),
            settings: Vec::new(),
        }
    }

    fn file(path: &str) -> PlanStep {
        PlanStep::Configure(Configure {
            files: vec![FileChange::Whole {
                path: path.to_owned(),
                mode: FileMode::Public,
                text: ValueChange {
                    from: None,
                    to: Some("x\n".to_owned()),
                },
            }],
            then: Vec::new(),
        })
    }

    fn sysctl() -> PlanStep {
        PlanStep::from(Sysctl {
            name: "net.core.rmem_max".to_owned(),
            value: ValueChange {
                from: "1".to_owned(),
                to: "2".to_owned(),
            },
        })
    }

    #[test]
    fn what_only_some_nodes_get_is_told_of_them() {
        let a = node("spark-a", vec![sysctl()]);
        let b = node("spark-b", vec![file("/etc/x")]);
        let both = [&a, &b];
        assert_eq!(files(&both).as_deref(), Some("1 new (spark-b)"));
        assert_eq!(sysctls(&both).as_deref(), Some("1 set (spark-a)"));
        assert_eq!(interfaces(&both), None);
        let c = node("spark-c", vec![sysctl(), file("/etc/x")]);
        let all = [&a, &b, &c];
        let same = "1 new, the same on both nodes (spark-b and spark-c)";
        assert_eq!(files(&all).as_deref(), Some(same));
        let each = "1 on each node set (spark-a and spark-c)";
        assert_eq!(sysctls(&all).as_deref(), Some(each));
        assert_eq!(sysctls(&[&a, &c]).as_deref(), Some("1 on each node set"));
    }
}
