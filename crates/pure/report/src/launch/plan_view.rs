//! What would run, and what was started.

use crosstie_launch::format::quoted;

use super::{LaunchOutcome, LaunchPlan, LaunchReport, PlannedRank};
use crate::{
    suggested_command::CommandContext,
    text::{Palette, TextSpan, TextTone, item, line, plain, quiet, strong, with_remark},
};

/// Each node's command as a shell would take it.
pub fn plan_view(plan: &LaunchPlan, palette: Palette) -> String {
    let mut out = String::new();
    for rank in &plan.ranks {
        let title = format!("{}  rank {}", rank.host, rank.rank);
        line(palette, &[strong(title)], &mut out);
        for variable in &rank.environment {
            let text = format!("  {}={}", variable.name, quoted(&variable.value));
            line(
                palette,
                &[TextSpan::command(TextTone::Quiet, text)],
                &mut out,
            );
        }
        let command = format!("  {}", command(rank));
        line(
            palette,
            &[TextSpan::command(TextTone::Plain, command)],
            &mut out,
        );
        out.push('\n');
    }
    let watch = format!(
        "The ranks watch each other at {}: a rank that ends ends the job on all nodes.",
        plan.watch
    );
    line(palette, &[quiet(watch)], &mut out);
    for note in &plan.notes {
        item(palette, (TextTone::Bad, "! "), note, &mut out);
    }
    for obstacle in &plan.obstacles {
        let text = format!(
            "{}: {} ({}): {}",
            obstacle.host, obstacle.what, obstacle.evidence, obstacle.fix
        );
        item(palette, (TextTone::Alarm, "✗ "), &text, &mut out);
    }
    out
}

fn command(rank: &PlannedRank) -> String {
    let Some(command) = &rank.command else {
        return "(what the head sends it)".to_owned();
    };
    let words = [&command.program].into_iter().chain(&command.arguments);
    let words: Vec<String> = words.map(|word| shell_word(word)).collect();
    words.join(" ")
}

/// An option needs no quotes for its dashes.
fn shell_word(word: &str) -> String {
    let bare = word.trim_start_matches('-');
    if bare != word && quoted(bare) == bare {
        return word.to_owned();
    }
    quoted(word).into_owned()
}

/// With the commands that follow.
pub fn launched_view(launched: &LaunchReport, offer: &CommandContext, palette: Palette) -> String {
    let mut out = String::new();
    let (tone, sign, words) = match launched.outcome {
        LaunchOutcome::Running => (TextTone::Good, "✓ ", "runs"),
        LaunchOutcome::Ended => (TextTone::Good, "✓ ", "has ended well"),
        LaunchOutcome::Failed => (TextTone::Alarm, "✗ ", "has failed"),
    };
    let head = format!("{} {words} ({:.1} s)", launched.job, launched.seconds);
    line(
        palette,
        &[TextSpan::new(tone, sign), strong(head)],
        &mut out,
    );
    if let Some(why) = &launched.why {
        line(palette, &[plain(format!("  {why}"))], &mut out);
    }
    for rank in &launched.ranks {
        let packets = match rank.rdma_packets {
            0 => "no RDMA packets".to_owned(),
            packets => format!("{packets} RDMA packets"),
        };
        let text = format!("  rank {} on {}: {packets}", rank.rank, rank.host);
        line(palette, &[plain(text)], &mut out);
    }
    if let Some(text) = &launched.generated {
        line(palette, &[quiet("  generated:")], &mut out);
        for row in text.lines() {
            line(palette, &[plain(format!("    {row}"))], &mut out);
        }
    }
    if let Some(serves) = &launched.serves {
        let text = format!("  answers at http://{serves} on its head");
        line(palette, &[plain(text)], &mut out);
    }
    for note in &launched.notes {
        item(palette, (TextTone::Bad, "! "), note, &mut out);
    }
    if launched.outcome == LaunchOutcome::Running {
        for (what, why) in [
            ("status", "how it is"),
            ("logs", "what it prints"),
            ("stop", "ends it on all nodes"),
        ] {
            let command = format!("  {}", offer.job(what, &launched.job));
            let spans = TextSpan::offer(TextTone::Accent, &with_remark(command, why));
            line(palette, &spans, &mut out);
        }
    }
    out
}
