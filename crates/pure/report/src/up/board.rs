//! Stages × nodes, drawn while they run.

use std::time::Duration;

use super::Stage;
use crate::text::{Palette, Span, Tone, line};

/// Nodes that are drawn at most; the others are counted.
const MOST: usize = 16;
const NAME: usize = 24;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Board {
    pub title: String,
    pub rows: Vec<(String, [Cell; Stage::ALL.len()])>,
}

/// Where one node is with one stage.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Cell {
    #[default]
    Ahead,
    /// In words.
    Running(String),
    Done,
    Failed,
}

/// Lines of at most so many columns.
pub fn board(board: &Board, elapsed: Duration, columns: usize, palette: Palette) -> Vec<String> {
    let names = board.rows.iter().map(|(name, _)| name.chars().count());
    let width = names.max().unwrap_or(0).min(NAME);
    let mut lines = vec![painted(heading(board, elapsed, width), columns, palette)];
    for (name, cells) in board.rows.iter().take(MOST) {
        let name: String = name.chars().take(NAME).collect();
        let mut spans = vec![Span::new(Tone::Strong, format!("  {name:<width$}"))];
        spans.extend(marks(cells));
        lines.push(painted(spans, columns, palette));
    }
    if board.rows.len() > MOST {
        let more = format!("  and {} more", board.rows.len() - MOST);
        lines.push(painted(
            vec![Span::new(Tone::Quiet, more)],
            columns,
            palette,
        ));
    }
    lines
}

fn heading(board: &Board, elapsed: Duration, width: usize) -> Vec<Span> {
    let title: String = board.title.chars().take(NAME).collect();
    let stages: Vec<&str> = Stage::ALL.iter().map(|stage| stage.name()).collect();
    vec![
        Span::new(Tone::Accent, format!("{title:<0$}", width + 2)),
        Span::new(Tone::Quiet, format!("  {}", stages.join("  "))),
        Span::new(Tone::Quiet, format!("  {} s", elapsed.as_secs())),
    ]
}

/// A sign below each stage's name. The words of the one that runs take the place of those ahead.
fn marks(cells: &[Cell]) -> Vec<Span> {
    let mut spans = Vec::new();
    for (stage, cell) in Stage::ALL.iter().zip(cells) {
        let width = stage.name().len() + 2;
        let (tone, sign) = match cell {
            Cell::Ahead => (Tone::Quiet, "·"),
            Cell::Done => (Tone::Good, "✓"),
            Cell::Failed => (Tone::Alarm, "✗"),
            Cell::Running(words) => {
                spans.push(Span::new(Tone::Plain, format!("  {words}")));
                break;
            }
        };
        spans.push(Span::new(tone, format!("  {sign:<0$}", width - 2)));
    }
    spans
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
