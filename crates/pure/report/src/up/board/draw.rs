//! The board on a terminal: never wider or longer than there is room for.

use std::time::Duration;

use super::{ProgressBoard, ProgressBoardRow, StageCell};
use crate::{
    text::{Palette, TextSpan, TextTone, line},
    up::UpStage,
};

/// Nodes that are drawn at most; the others are counted.
const MAX_NODES: usize = 16;
/// Columns of a name.
const NAME: usize = 24;

/// How much room there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TerminalSize {
    pub columns: usize,
    pub lines: usize,
}

/// Lines for stages × nodes. Nodes that are done make room for those that are not.
pub fn board(
    board: &ProgressBoard,
    elapsed: Duration,
    size: TerminalSize,
    palette: Palette,
) -> Vec<String> {
    let names = board.rows.iter().map(|(name, _)| name.chars().count());
    let names = names.max().unwrap_or(0).min(NAME);
    let stages: Vec<&str> = UpStage::ALL.iter().map(|stage| stage.name()).collect();
    let clock = format!("  {} s", elapsed.as_secs());
    // A sign stands below its stage also where the title is longer than every name.
    let first = (names + 2).max(board.title.chars().count());
    let wide = first + 2 + stages.join("  ").len() + clock.len();
    let is_wide = wide <= size.columns;
    let heading = if is_wide {
        vec![
            TextSpan::new(TextTone::Accent, format!("{:<first$}", board.title)),
            TextSpan::new(TextTone::Quiet, format!("  {}{clock}", stages.join("  "))),
        ]
    } else {
        let stage = latest(board).map_or("", UpStage::name);
        vec![
            TextSpan::new(TextTone::Accent, &board.title),
            TextSpan::new(TextTone::Quiet, format!("{clock}  {stage}")),
        ]
    };
    let most = size.lines.saturating_sub(2).clamp(1, MAX_NODES);
    let mut lines = vec![painted(heading, size.columns, palette)];
    for (name, cells) in shown(&board.rows, most) {
        let name: String = name.chars().take(NAME).collect();
        let spans = if is_wide {
            let mut spans = vec![TextSpan::new(
                TextTone::Strong,
                format!("  {name:<0$}", first - 2),
            )];
            spans.extend(wide_marks(cells));
            spans
        } else {
            let mut spans = vec![TextSpan::new(
                TextTone::Strong,
                format!("  {name:<names$}  "),
            )];
            spans.extend(narrow_marks(cells));
            spans
        };
        lines.push(painted(spans, size.columns, palette));
    }
    let hidden = board.rows.len().saturating_sub(most);
    if hidden > 0 {
        let more = TextSpan::new(TextTone::Quiet, format!("  and {hidden} more"));
        lines.push(painted(vec![more], size.columns, palette));
    }
    lines
}

/// The stage that runs, or that was the last to run.
fn latest(board: &ProgressBoard) -> Option<UpStage> {
    let begun = |stage: &UpStage| {
        let mut rows = board.rows.iter();
        rows.any(|(_, cells)| cells[*stage as usize] != StageCell::Ahead)
    };
    UpStage::ALL.into_iter().rev().find(begun)
}

/// So many, in their order, and none that waits or failed is left out for one that is done.
fn shown(rows: &[ProgressBoardRow], most: usize) -> impl Iterator<Item = &ProgressBoardRow> {
    let is_open = |row: &ProgressBoardRow| {
        let mut cells = row.1.iter();
        cells.any(|cell| matches!(cell, StageCell::Running(_) | StageCell::Failed))
    };
    let open = rows.iter().filter(|row| is_open(row)).count();
    let mut idle = most.saturating_sub(open);
    rows.iter()
        .filter(move |row| {
            let room = is_open(row) || idle > 0;
            if room && !is_open(row) {
                idle -= 1;
            }
            room
        })
        .take(most)
}

fn mark(cell: &StageCell) -> (TextTone, &'static str) {
    match cell {
        StageCell::Ahead => (TextTone::Quiet, "·"),
        StageCell::Running(_) => (TextTone::Plain, "⋯"),
        StageCell::Done => (TextTone::Good, "✓"),
        StageCell::Failed => (TextTone::Alarm, "✗"),
    }
}

/// A sign below each stage's name. The words of the one that runs take the place of those ahead.
fn wide_marks(cells: &[StageCell]) -> Vec<TextSpan> {
    let mut spans = Vec::new();
    for (stage, cell) in UpStage::ALL.iter().zip(cells) {
        if let StageCell::Running(words) = cell {
            spans.push(TextSpan::new(TextTone::Plain, format!("  {words}")));
            break;
        }
        let (tone, sign) = mark(cell);
        spans.push(TextSpan::new(
            tone,
            format!("  {sign:<0$}", stage.name().len()),
        ));
    }
    spans
}

/// Signs side by side, then the words of the one that runs.
fn narrow_marks(cells: &[StageCell]) -> Vec<TextSpan> {
    let signs = cells.iter().map(|cell| {
        let (tone, sign) = mark(cell);
        TextSpan::new(tone, sign)
    });
    let words = cells.iter().find_map(|cell| match cell {
        StageCell::Running(words) => Some(TextSpan::new(TextTone::Plain, format!("  {words}"))),
        _ => None,
    });
    signs.chain(words).collect()
}

fn painted(spans: Vec<TextSpan>, columns: usize, palette: Palette) -> String {
    let mut left = columns;
    let mut fitting = Vec::new();
    for span in spans {
        let span = span.cut(left);
        left -= span.width();
        fitting.push(span);
    }
    let mut out = String::new();
    line(palette, &fitting, &mut out);
    out.truncate(out.trim_end_matches('\n').len());
    out
}
