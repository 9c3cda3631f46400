//! What charts share: frames, scales, axes. Units of a chart are pixels at its full width.

use std::fmt::Write;

use maud::{Markup, html};

use crate::run_report::Grade;

/// The plot inside of a chart.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlotArea {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

impl PlotArea {
    pub(super) fn right(self) -> f64 {
        self.left + self.width
    }

    pub(super) fn bottom(self) -> f64 {
        self.top + self.height
    }

    /// `share` of the height, from below.
    pub(super) fn up(self, share: f64) -> f64 {
        self.bottom() - self.height * share.clamp(0.0, 1.0)
    }

    pub(super) fn along(self, share: f64) -> f64 {
        self.left + self.width * share.clamp(0.0, 1.0)
    }
}

/// A coordinate: tenths are fine enough, and short.
pub(super) fn at(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// From 0 to a round number above the largest value, in about four steps.
#[derive(Debug, Clone)]
pub(super) struct LinearScale {
    pub(super) most: f64,
    pub(super) ticks: Vec<f64>,
}

impl LinearScale {
    pub(super) fn up_to(largest: f64) -> Self {
        const STEPS: [f64; 5] = [1.0, 2.0, 2.5, 5.0, 10.0];
        let largest = if largest.is_finite() && largest > 0.0 {
            largest
        } else {
            1.0
        };
        let rough = largest / 4.0;
        let power = 10_f64.powf(rough.log10().floor());
        let step = STEPS
            .iter()
            .map(|step| step * power)
            .find(|step| *step >= rough);
        let step = step.unwrap_or(rough);
        let mut ticks = vec![0.0];
        while ticks.last().is_some_and(|last| *last < largest) && ticks.len() < 12 {
            // Multiples, since sums of tenths drift.
            #[allow(clippy::cast_precision_loss)] // a dozen at most
            ticks.push(step * ticks.len() as f64);
        }
        let most = ticks.last().copied().unwrap_or(largest);
        Self { most, ticks }
    }

    pub(super) fn share(&self, value: f64) -> f64 {
        value / self.most
    }
}

/// From one value to another, both above 0.
#[derive(Debug, Clone)]
pub(super) struct LogarithmicScale {
    least: f64,
    most: f64,
}

impl LogarithmicScale {
    pub(super) fn between(least: f64, most: f64) -> Self {
        let least = if least.is_finite() {
            least.max(1e-6)
        } else {
            1e-6
        };
        let most = if most.is_finite() { most } else { least };
        Self {
            least,
            most: most.max(least * 2.0),
        }
    }

    pub(super) fn share(&self, value: f64) -> f64 {
        let from = self.least.log10();
        (value.max(self.least).log10() - from) / (self.most.log10() - from)
    }

    /// Round numbers: each power of ten, and of a short scale twice and five times it as well.
    pub(super) fn ticks(&self) -> Vec<f64> {
        let decades = self.most.log10() - self.least.log10();
        let steps: &[f64] = if decades > 3.0 {
            &[1.0]
        } else {
            &[1.0, 2.0, 5.0]
        };
        let mut power = 10_f64.powf(self.least.log10().floor());
        let mut ticks = Vec::new();
        while power <= self.most && ticks.len() < 24 {
            let near = steps.iter().map(|step| step * power);
            ticks.extend(
                near.filter(|value| (self.least * 0.999..=self.most * 1.001).contains(value)),
            );
            power *= 10.0;
        }
        ticks
    }
}

/// Short: ticks are round numbers.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a few digits
pub(super) fn tick(value: f64) -> String {
    let digits = if value > 0.0 {
        -value.log10().floor()
    } else {
        0.0
    };
    let text = format!("{value:.*}", digits.clamp(0.0, 9.0) as usize + 1);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Horizontal grid lines with their numbers on the left, and the unit above them.
pub(super) fn vertical_axis(frame: PlotArea, scale: &LinearScale, unit: &str) -> Markup {
    let ticks: Vec<(f64, f64)> = scale
        .ticks
        .iter()
        .map(|value| (scale.share(*value), *value))
        .collect();
    vertical_ticks(frame, &ticks, unit)
}

/// The same of any scale: shares of the height, and what they stand for.
pub(super) fn vertical_ticks(frame: PlotArea, ticks: &[(f64, f64)], unit: &str) -> Markup {
    html! {
        g.axis aria-hidden="true" {
            text x=(at(frame.left - 8.0)) y=(at(frame.top - 14.0)) text-anchor="end" { (unit) }
            @for (share, value) in ticks {
                @let y = frame.up(*share);
                line.grid x1=(at(frame.left)) x2=(at(frame.right())) y1=(at(y)) y2=(at(y)) {}
                text x=(at(frame.left - 8.0)) y=(at(y + 4.5)) text-anchor="end" { (tick(*value)) }
            }
        }
    }
}

/// Vertical grid lines with their numbers below.
pub(super) fn horizontal_axis(frame: PlotArea, ticks: &[(f64, String)], unit: &str) -> Markup {
    html! {
        g.axis aria-hidden="true" {
            @for (share, label) in ticks {
                @let x = at(frame.along(*share));
                line.grid x1=(x) x2=(x) y1=(at(frame.top)) y2=(at(frame.bottom())) {}
                text x=(x) y=(at(frame.bottom() + 18.0)) text-anchor=(anchor(*share)) { (label) }
            }
            text x=(at(frame.right())) y=(at(frame.bottom() + 36.0)) text-anchor="end" { (unit) }
        }
    }
}

/// The last label ends where the axis does.
fn anchor(share: f64) -> &'static str {
    if share > 0.97 { "end" } else { "middle" }
}

/// `M x y L x y …`
pub(super) fn path(points: impl Iterator<Item = (f64, f64)>) -> String {
    let mut path = String::new();
    for (index, (x, y)) in points.enumerate() {
        let letter = if index == 0 { 'M' } else { 'L' };
        // Writing to a String cannot fail.
        let _ = write!(path, "{letter}{} {}", at(x), at(y));
    }
    path
}

/// The class of a cable's line.
pub(super) fn cable_class(grade: Option<Grade>) -> &'static str {
    grade.map_or("untested", Grade::name)
}

pub(super) fn cable_key(grade: Option<Grade>) -> Markup {
    html! {
        svg viewBox="0 0 44 12" aria-hidden="true" {
            line class={ "cable " (cable_class(grade)) } x1="3" x2="41" y1="6" y2="6" {}
        }
    }
}

/// As many characters as fit, with an ellipsis for the rest. The whole text is in the title or the table beside it.
pub(super) fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{kept}…")
}
