//! The plan on a terminal: refusals first, then files as a difference, then what is done.

use crosstie_model::{
    NodePlan, Plan, Step,
    plan::{FileChange, SwitchSide},
};

use super::diff;
use crate::{
    document::NodeFailure,
    text::{Palette, Span, Tone, item, line},
};

pub fn view(plan: &Plan, unread: &[NodeFailure], next: &str, palette: Palette) -> String {
    let mut out = String::new();
    for node in &plan.nodes {
        of_node(node, palette, &mut out);
    }
    for failed in unread {
        let spans = [
            Span::new(Tone::Strong, &failed.host),
            Span::new(Tone::Alarm, "  could not be read: "),
            Span::new(Tone::Plain, &failed.error),
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
        line(palette, &[Span::command(Tone::Quiet, next)], &mut out);
    }
    out
}

fn of_node(node: &NodePlan, palette: Palette, out: &mut String) {
    let (tone, state) = match (node.refusals.len(), node.steps.is_empty()) {
        (0, true) => (Tone::Good, "nothing to do"),
        (0, false) => (Tone::Plain, "would change"),
        _ => (Tone::Alarm, "refused"),
    };
    let spans = [
        Span::new(Tone::Strong, &node.node),
        Span::new(Tone::Plain, "  "),
        Span::new(tone, state),
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
            item(palette, (Tone::Quiet, "  "), &text, out);
        }
        steps(&node.steps, palette, out);
    }
    for note in &node.notes {
        item(palette, (Tone::Bad, "note: "), note, out);
    }
    out.push('\n');
}

/// A node that nothing may be done on, and why.
pub(super) fn refused(node: &NodePlan, palette: Palette, out: &mut String) {
    let spans = [
        Span::new(Tone::Strong, &node.node),
        Span::new(Tone::Alarm, "  refused"),
    ];
    line(palette, &spans, out);
    refusals(node, palette, out);
    out.push('\n');
}

fn refusals(node: &NodePlan, palette: Palette, out: &mut String) {
    for refusal in &node.refusals {
        item(palette, (Tone::Alarm, "✗ "), &refusal.to_string(), out);
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

fn steps(steps: &[Step], palette: Palette, out: &mut String) {
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
    for text in steps.iter().flat_map(Step::words) {
        item(palette, (Tone::Accent, "• "), &text, out);
    }
}

pub(super) fn of_switch(switch: &SwitchSide, palette: Palette, out: &mut String) {
    let spans = [
        Span::new(Tone::Strong, &switch.plane),
        Span::new(Tone::Plain, "  the switch must do its part"),
    ];
    line(palette, &spans, out);
    for text in &switch.summary {
        item(palette, (Tone::Accent, "• "), text, out);
    }
    for (system, lines) in [("Cumulus", &switch.cumulus), ("SONiC", &switch.sonic)] {
        item(palette, (Tone::Quiet, ""), &format!("{system}:"), out);
        for text in lines {
            line(
                palette,
                &[Span::new(Tone::Quiet, format!("    {text}"))],
                out,
            );
        }
    }
    out.push('\n');
}

pub(super) fn verdict(plan: &Plan, unread: usize) -> Span {
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
        Tone::Alarm
    } else if changing > 0 {
        Tone::Plain
    } else {
        Tone::Good
    };
    Span::new(tone, text)
}
