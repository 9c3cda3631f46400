//! A run in a few lines, for a terminal.

use super::{Grade, RunReport};
use crate::text::{Palette, TextSpan, TextTone, item, line, strong};

/// The verdict, and where to look first.
pub fn view(report: &RunReport, palette: Palette) -> String {
    let summary = &report.summary;
    let tone = match summary.verdict {
        Grade::Healthy => TextTone::Good,
        Grade::Warning => TextTone::Bad,
        Grade::Fault | Grade::Failed => TextTone::Alarm,
        Grade::NotGraded | Grade::NotApplicable => TextTone::Quiet,
    };
    let mut out = String::new();
    let sign = TextSpan::new(tone, format!("{} ", summary.verdict.sign()));
    line(palette, &[sign, strong(&summary.sentence)], &mut out);
    if let Some(first) = &summary.first {
        item(
            palette,
            (TextTone::Quiet, "look first at "),
            first,
            &mut out,
        );
    }
    out
}
