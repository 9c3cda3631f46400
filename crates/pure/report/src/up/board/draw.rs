//! The board on a terminal: never wider or longer than there is room for.

use std::time::Duration;

use super::{Board, BoardRow, Cell};
use crate::{
    text::{Palette, Span, Tone, line},
    up::UpStage,
};

/// Nodes that are drawn at most; the others are counted.
const MOST: usize = 16;
/// Columns of a name.
const NAME: usize = 24;

/// How much room there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub columns: usize,
    pub lines: usize,
}

/// Lines for stages × nodes. Nodes that are done make room for those that are not.
pub fn board(board: &Board, elapsed: Duration, size: Size, palette: Palette) -> Vec<String> {
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
            Span::new(Tone::Accent, format!("{:<first$}", board.title)),
            Span::new(Tone::Quiet, format!("  {}{clock}", stages.join("  "))),
        ]
    } else {
        let stage = latest(board).map_or("", UpStage::name);
        vec![
            Span::new(Tone::Accent, &board.title),
            Span::new(Tone::Quiet, format!("{clock}  {stage}")),
        ]
    };
    let most = size.lines.saturating_sub(2).clamp(1, MOST);
    let mut lines = vec![painted(heading, size.columns, palette)];
    for (name, cells) in shown(&board.rows, most) {
        let name: String = name.chars().take(NAME).collect();
        let spans = if is_wide {
            let mut spans = vec![Span::new(Tone::Strong, format!("  {name:<0$}", first - 2))];
            spans.extend(wide_marks(cells));
            spans
        } else {
            let mut spans = vec![Span::new(Tone::Strong, format!("  {name:<names$}  "))];
            spans.extend(narrow_marks(cells));
            spans
        };
        lines.push(painted(spans, size.columns, palette));
    }
    let hidden = board.rows.len().saturating_sub(most);
    if hidden > 0 {
        let more = Span::new(Tone::Quiet, format!("  and {hidden} more"));
        lines.push(painted(vec![more], size.columns, palette));
    }
    lines
}

/// The stage that runs, or that was the last to run.
fn latest(board: &Board) -> Option<UpStage> {
    let begun = |stage: &UpStage| {
        let mut rows = board.rows.iter();
        rows.any(|(_, cells)| cells[*stage as usize] != Cell::Ahead)
    };
    UpStage::ALL.into_iter().rev().find(begun)
}

/// So many, in their order, and none that waits or failed is left out for one that is done.
fn shown(rows: &[BoardRow], most: usize) -> impl Iterator<Item = &BoardRow> {
    let is_open = |row: &BoardRow| {
        let mut cells = row.1.iter();
        cells.any(|cell| matches!(cell, Cell::Running(_) | Cell::Failed))
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

fn mark(cell: &Cell) -> (Tone, &'static str) {
    match cell {
        Cell::Ahead => (Tone::Quiet, "·"),
        Cell::Running(_) => (Tone::Plain, "⋯"),
        Cell::Done => (Tone::Good, "✓"),
        Cell::Failed => (Tone::Alarm, "✗"),
    }
}

/// A sign below each stage's name. The words of the one that runs take the place of those ahead.
fn wide_marks(cells: &[Cell]) -> Vec<Span> {
    let mut spans = Vec::new();
    for (stage, cell) in UpStage::ALL.iter().zip(cells) {
        if let Cell::Running(words) = cell {
            spans.push(Span::new(Tone::Plain, format!("  {words}")));
            break;
        }
        let (tone, sign) = mark(cell);
        spans.push(Span::new(tone, format!("  {sign:<0$}", stage.name().len())));
    }
    spans
}

/// Signs side by side, then the words of the one that runs.
fn narrow_marks(cells: &[Cell]) -> Vec<Span> {
    let signs = cells.iter().map(|cell| {
        let (tone, sign) = mark(cell);
        Span::new(tone, sign)
    });
    let words = cells.iter().find_map(|cell| match cell {
        Cell::Running(words) => Some(Span::new(Tone::Plain, format!("  {words}"))),
        _ => None,
    });
    signs.chain(words).collect()
}

fn painted(spans: Vec<Span>, columns: usize, palette: Palette) -> String {
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
