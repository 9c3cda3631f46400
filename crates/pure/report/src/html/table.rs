//! Tables, badges and keys.

use maud::{Markup, html};

use super::chart::cable_key;
use crate::run_report::Grade;

/// Rows of the longest table; the rest is in the JSON.
pub(super) const MOST_ROWS: usize = 600;

pub(super) fn badge(grade: Grade) -> Markup {
    html! { span class={ "badge " (grade.name()) } { (grade.sign()) " " (grade.words()) } }
}

/// A chart's numbers, folded away. `rows` are the body.
pub(super) fn folded(summary: &str, columns: &[&str], rows: &Markup) -> Markup {
    html! {
        details {
            summary.chart { (summary) }
            div.scroll tabindex="0" role="region" aria-label=(summary) {
                table {
                    thead { tr { @for column in columns { th scope="col" { (column) } } } }
                    tbody { (rows) }
                }
            }
        }
    }
}

/// What was left out of a table.
pub(super) fn left_out(shown: usize, all: usize) -> Markup {
    html! {
        @if all > shown {
            p.small.quiet { "The worst " (shown) " of " (all) " are shown; `crosstie report --json` has all." }
        }
    }
}

/// What the lines of the topology mean.
pub(super) fn grade_key(grades: &[Option<Grade>]) -> Markup {
    html! {
        ul.key aria-label="Key" {
            @for grade in grades {
                li { (cable_key(*grade)) (grade.map_or("not tested", Grade::words)) }
            }
        }
    }
}
