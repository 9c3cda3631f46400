//! Two runs of one cluster: what got better, worse, or is otherwise not as it was.

use crosstie_grade::compare::{DifferenceKind, compare};
use crosstie_model::run::StoredRun;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    run_report::{ReplacedNameCount, RunReport, RunSummary},
    text::{Palette, TableRow, TextSpan, TextTone, line, plain, quiet, strong, table},
};

/// What a figure that is missing is called in a change.
const NOT_MEASURED: &str = "not measured";
/// Version of the JSON.
pub const FORMAT: u32 = 1;

/// `crosstie report OLD NEW --json`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct RunComparison {
    pub format: u32,
    pub before: ComparedRun,
    pub after: ComparedRun,
    /// In one sentence.
    pub sentence: String,
    pub better: usize,
    pub worse: usize,
    pub changed: usize,
    /// What was done first, then what came of it. Figures are in it if they differ by more than they wander.
    pub changes: Vec<RunDifferenceReport>,
    /// What `--share` replaced; absent where names are the true ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaced: Option<Vec<ReplacedNameCount>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ComparedRun {
    pub cluster: Option<String>,
    pub started: String,
    /// Version of Crosstie that measured.
    pub crosstie: String,
    pub summary: RunSummary,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RunDifferenceReport {
    pub direction: DifferenceDirection,
    pub what: &'static str,
    /// The node, port or pair.
    pub subject: String,
    pub before: String,
    pub after: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DifferenceDirection {
    Worse,
    Better,
    /// Neither: a version, a setting, a cable.
    Changed,
}

impl DifferenceDirection {
    pub fn name(self) -> &'static str {
        match self {
            Self::Worse => "worse",
            Self::Better => "better",
            Self::Changed => "changed",
        }
    }

    pub fn sign(self) -> &'static str {
        match self {
            Self::Worse => "▼",
            Self::Better => "▲",
            Self::Changed => "●",
        }
    }

    fn tone(self) -> TextTone {
        match self {
            Self::Worse => TextTone::Alarm,
            Self::Better => TextTone::Good,
            Self::Changed => TextTone::Accent,
        }
    }
}

/// The JSON schema.
pub fn schema() -> schemars::Schema {
    crate::document::closed_schema::<RunComparison>()
}

/// The runs, and what is shown of each.
pub fn comparison(
    runs: [&StoredRun; 2],
    reports: [&RunReport; 2],
    replaced: Option<Vec<ReplacedNameCount>>,
) -> RunComparison {
    let all: Vec<RunDifferenceReport> = compare(runs[0], runs[1])
        .into_iter()
        .map(|change| RunDifferenceReport {
            direction: match change.what {
                DifferenceKind::Faster => DifferenceDirection::Better,
                DifferenceKind::Working if change.before == NOT_MEASURED => {
                    DifferenceDirection::Better
                }
                DifferenceKind::Slower | DifferenceKind::Working => DifferenceDirection::Worse,
                _ => DifferenceDirection::Changed,
            },
            what: change.what.words(),
            subject: change.subject,
            before: change.before,
            after: change.after,
        })
        .collect();
    let number = |direction| all.iter().filter(|one| one.direction == direction).count();
    let [better, worse, changed] = [
        DifferenceDirection::Better,
        DifferenceDirection::Worse,
        DifferenceDirection::Changed,
    ]
    .map(number);
    let [before, after] = reports.map(|report| ComparedRun {
        cluster: report.cluster.clone(),
        started: report.started.clone(),
        crosstie: report.crosstie.clone(),
        summary: report.summary.clone(),
    });
    RunComparison {
        format: FORMAT,
        before,
        after,
        sentence: sentence(better, worse, changed),
        better,
        worse,
        changed,
        changes: all,
        replaced,
    }
}

/// What is said of a difference to a person; programs have its direction beside it.
pub(crate) fn words<'a>(what: &'a str, after: &str) -> &'a str {
    if what != DifferenceKind::Working.words() {
        what
    } else if after == NOT_MEASURED {
        "works no more"
    } else {
        "works again"
    }
}

fn sentence(better: usize, worse: usize, changed: usize) -> String {
    let figures = |count: usize, word: &str| match count {
        1 => format!("1 figure got {word}"),
        count => format!("{count} figures got {word}"),
    };
    let mut parts = Vec::new();
    if worse > 0 {
        parts.push(figures(worse, "worse"));
    }
    if better > 0 {
        parts.push(figures(better, "better"));
    }
    match changed {
        0 => {}
        1 => parts.push("1 other thing changed".to_owned()),
        count => parts.push(format!("{count} other things changed")),
    }
    if parts.is_empty() {
        return "Nothing changed beyond the spread of the figures.".to_owned();
    }
    let mut words = parts.join(", ");
    if worse == 0 && better == 0 {
        words += "; no figure did, beyond its spread";
    }
    words + "."
}

/// For a terminal.
pub fn view(comparison: &RunComparison, palette: Palette) -> String {
    let mut out = String::new();
    let run = |run: &ComparedRun| {
        let cluster = run.cluster.as_deref().unwrap_or("unnamed cluster");
        format!("{cluster}, {}, Crosstie {}", run.started, run.crosstie)
    };
    line(
        palette,
        &[quiet("before  "), plain(run(&comparison.before))],
        &mut out,
    );
    line(
        palette,
        &[quiet("after   "), plain(run(&comparison.after))],
        &mut out,
    );
    out.push('\n');
    let rows: Vec<TableRow> = comparison
        .changes
        .iter()
        .map(|change| {
            let what = words(change.what, &change.after);
            let sign = format!("{} {what}", change.direction.sign());
            TableRow::Cells(
                2,
                vec![
                    TextSpan::new(change.direction.tone(), sign),
                    strong(&change.subject),
                    plain(format!("{} → {}", change.before, change.after)),
                ],
            )
        })
        .collect();
    table(palette, &rows, &mut out);
    if !rows.is_empty() {
        out.push('\n');
    }
    line(palette, &[strong(&comparison.sentence)], &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stopped_is_not_said_to_work() {
        assert_eq!(words("works", NOT_MEASURED), "works no more");
        assert_eq!(words("works", "98 Gb/s"), "works again");
        assert_eq!(words("slower", "98 Gb/s"), "slower");
    }
}
