//! The plan on a terminal: refusals first, then files as a difference, then what is done.

use crosstie_model::{
    ClusterPlan, NodePlan, PlanStep,
    plan::{FileChange, SwitchSettings},
};

use super::diff;
use crate::{
    document::NodeFailure,
    text::{Palette, TextSpan, TextTone, item, line},
};

pub fn view(plan: &ClusterPlan, unread: &[NodeFailure], next: &str, palette: Palette) -> String {
    let mut out = String::new();
    for node in &plan.nodes {
        of_node(node, palette, &mut out);
    }
    for failed in unread {
        let spans = [
            TextSpan::new(TextTone::Strong, &failed.host),
            TextSpan::new(TextTone::Alarm, "  could not be read: "),
            TextSpan::new(TextTone::Plain, &failed.error),
        ];
        line(palette, &spans, &mut out);
        out.push('\n');
    }
    if plan.has_work() {
        for switch in &plan.switches {
            of_switch(switch, palette, &mut out);
        }
    }
    line(palette, &[verdict(plan, unread.len())], &mut out);
    if !next.is_empty() && plan.has_work() && !plan.is_refused() {
        line(palette, &TextSpan::offer(TextTone::Quiet, next), &mut out);
    }
    out
}

fn of_node(node: &NodePlan, palette: Palette, out: &mut String) {
    let (tone, state) = match (node.refusals.len(), node.steps.is_empty()) {
        (0, true) => (TextTone::Good, "nothing to do"),
        (0, false) => (TextTone::Plain, "would change"),
        _ => (TextTone::Alarm, "refused"),
    };
    let spans = [
        TextSpan::new(TextTone::Strong, &node.node),
        TextSpan::new(TextTone::Plain, "  "),
        TextSpan::new(tone, state),
    ];
    line(palette, &spans, out);
    refusals(node, palette, out);
    if node.refusals.is_empty() {
        for address in &node.addresses {
            let text = format!(
                "{} {} {} {}",
                address.cage,
                address.interface,
                address.address,
                peers(&address.peers)
            );
            item(palette, (TextTone::Quiet, "  "), &text, out);
        }
        steps(&node.steps, palette, out);
    }
    for note in &node.notes {
        item(palette, (TextTone::Bad, "note: "), note, out);
    }
    out.push('\n');
}

/// A node that nothing may be done on, and why.
pub(super) fn refused(node: &NodePlan, palette: Palette, out: &mut String) {
    let spans = [
        TextSpan::new(TextTone::Strong, &node.node),
        TextSpan::new(TextTone::Alarm, "  refused"),
    ];
    line(palette, &spans, out);
    refusals(node, palette, out);
    out.push('\n');
}

fn refusals(node: &NodePlan, palette: Palette, out: &mut String) {
    for refusal in &node.refusals {
        item(palette, (TextTone::Alarm, "✗ "), &refusal.to_string(), out);
    }
}

/// Two by name, more by number.
pub(super) fn peers(names: &[String]) -> String {
    match names {
        [] => "with nobody".to_owned(),
        [one] => format!("with {one}"),
        [a, b] => format!("with {a} and {b}"),
        more => format!("with {} others", more.len()),
    }
}

fn steps(steps: &[PlanStep], palette: Palette, out: &mut String) {
    for step in steps {
        for file in step.files() {
            match file {
                FileChange::Whole { path, text, .. } => {
                    diff(path, text.from.as_deref(), text.to.as_deref(), palette, out);
                }
                FileChange::Block { path, text, .. } => {
                    let place = format!("{path} (our block)");
                    let (from, to) = (text.from.as_deref(), text.to.as_deref());
                    diff(&place, from, to, palette, out);
                }
                FileChange::Aside { .. } => {}
            }
        }
    }
    for text in steps.iter().flat_map(PlanStep::words) {
        item(palette, (TextTone::Accent, "• "), &text, out);
    }
}

pub(super) fn of_switch(switch: &SwitchSettings, palette: Palette, out: &mut String) {
    let spans = [
        TextSpan::new(TextTone::Strong, &switch.plane),
        TextSpan::new(TextTone::Plain, "  the switch must do its part"),
    ];
    line(palette, &spans, out);
    for text in &switch.summary {
        item(palette, (TextTone::Accent, "• "), text, out);
    }
    for (system, lines) in [("Cumulus", &switch.cumulus), ("SONiC", &switch.sonic)] {
        item(palette, (TextTone::Quiet, ""), &format!("{system}:"), out);
        for text in lines {
            line(
                palette,
                &[TextSpan::new(TextTone::Quiet, format!("    {text}"))],
                out,
            );
        }
    }
    out.push('\n');
}

pub(super) fn verdict(plan: &ClusterPlan, unread: usize) -> TextSpan {
    let count = |number: usize, what: &str| match number {
        1 => format!("1 node {what}"),
        number => format!("{number} nodes {what}"),
    };
    let refused = plan
        .nodes
        .iter()
        .filter(|node| !node.refusals.is_empty())
        .count();
    let changing = plan
        .nodes
        .iter()
        .filter(|node| node.refusals.is_empty() && !node.steps.is_empty())
        .count();
    let idle = plan.nodes.len() - refused - changing;
    let parts = [
        (refused, "refused"),
        (unread, "not read"),
        (changing, "would change"),
        (idle, "with nothing to do"),
    ];
    let parts: Vec<String> = parts
        .into_iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, what)| count(number, what))
        .collect();
    let mut text = match parts.as_slice() {
        [] => "no node was planned for".to_owned(),
        parts => parts.join(", "),
    };
    if !plan.missing.is_empty() && unread == 0 {
        text = format!("{text}; not planned for: {}", plan.missing.join(", "));
    }
    let tone = if refused + unread > 0 {
        TextTone::Alarm
    } else if changing > 0 {
        TextTone::Plain
    } else {
        TextTone::Good
    };
    TextSpan::new(tone, text)
}
