//! A run in a few lines, for a terminal.

use super::{Grade, RunReport};
use crate::text::{Palette, Span, Tone, item, line, strong};

/// The verdict, and where to look first.
pub fn view(report: &RunReport, palette: Palette) -> String {
    let summary = &report.summary;
    let tone = match summary.verdict {
        Grade::Healthy => Tone::Good,
        Grade::Warning => Tone::Bad,
        Grade::Fault | Grade::Failed => Tone::Alarm,
        Grade::NotGraded | Grade::NotApplicable => Tone::Quiet,
    };
    let mut out = String::new();
    let sign = Span::new(tone, format!("{} ", summary.verdict.sign()));
    line(palette, &[sign, strong(&summary.sentence)], &mut out);
    if let Some(first) = &summary.first {
        item(palette, (Tone::Quiet, "look first at "), first, &mut out);
    }
    out
}
