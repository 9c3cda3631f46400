//! The doctor stays: looks again and again, and says what changed.

use std::{io::IsTerminal, process::ExitCode, thread, time::Duration};

use clap::ColorChoice;
use crosstie_control::{Fleet, FleetSnapshot, NodeSnapshot, doctor::examine};
use crosstie_model::Spec;
use crosstie_report::{
    doctor::{change_line, changes, verdict, view},
    text::line,
};

use super::{Doctor, detail, earlier, output, selection};

/// How many of the latest changes a screen keeps in sight.
const KEPT: usize = 12;

/// Clears the screen and goes to its upper left corner.
const CLEAR: &str = "\u{1b}[2J\u{1b}[H";

/// Ctrl-C ends it.
pub(super) fn run(
    doctor: &Doctor,
    fleet: &Fleet,
    spec: Option<&Spec>,
    colour: ColorChoice,
) -> anyhow::Result<ExitCode> {
    let palette = output::palette(colour);
    let redraw = std::io::stdout().is_terminal() && !doctor.json;
    let pause = Duration::from_secs(doctor.interval.max(1).into());
    let mut before: Vec<Option<NodeSnapshot>> = Vec::new();
    let mut last = None;
    let mut history: Vec<String> = Vec::new();
    loop {
        let now = FleetSnapshot::take(fleet);
        let diagnosis = examine(&now, &before, spec, selection(doctor));
        let new: Vec<String> = match &last {
            Some(last) => changes(last, &diagnosis)
                .iter()
                .map(|change| change_line(change, &clock(), palette))
                .collect(),
            None => Vec::new(),
        };
        if doctor.json {
            output::print(&format!("{}\n", serde_json::to_string(&diagnosis)?))?;
        } else if redraw {
            history.extend(new);
            let kept = history.len().saturating_sub(KEPT);
            let text = view(&diagnosis, detail(doctor), palette);
            output::print(&format!("{CLEAR}{text}\n{}", history[kept..].concat()))?;
        } else if last.is_none() {
            output::print(&view(&diagnosis, detail(doctor), palette))?;
        } else if !new.is_empty() {
            let mut text = new.concat();
            line(palette, &[verdict(&diagnosis)], &mut text);
            output::print(&text)?;
        }
        last = Some(diagnosis);
        before = earlier(now);
        thread::sleep(pause);
    }
}

/// The time of day in UTC, to the second.
fn clock() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let seconds = since.map_or(0, |since| since.as_secs() % 86400);
    format!(
        "{:02}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    )
}
