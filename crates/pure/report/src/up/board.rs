//! Stages × nodes, drawn while they run.

use std::time::Duration;

use super::UpStage;
use crate::text::{Palette, Span, Tone, line, printable};

/// Nodes that are drawn at most; the others are counted.
const MOST: usize = 16;
const NAME: usize = 24;

/// Stages as they are begun and ended.
#[derive(Debug, Clone)]
pub struct StageBoard {
    board: Board,
    /// What each row may be called: as the person does, and as the node does.
    names: Vec<Vec<String>>,
    running: Option<UpStage>,
}

impl StageBoard {
    pub fn new(nodes: &[&str]) -> Self {
        let row = |name: &&str| (printable(name), <[Cell; UpStage::ALL.len()]>::default());
        Self {
            board: Board {
                title: "crosstie up".to_owned(),
                rows: nodes.iter().map(row).collect(),
            },
            names: nodes.iter().map(|name| vec![printable(name)]).collect(),
            running: None,
        }
    }

    /// What the nodes call themselves.
    pub fn rename(&mut self, hosts: &[&str]) {
        let rows = self.board.rows.iter_mut().zip(&mut self.names);
        for (host, ((row, _), names)) in hosts.iter().zip(rows) {
            let host = printable(host);
            row.clone_from(&host);
            names.push(host);
        }
    }

    pub fn begin(&mut self, stage: UpStage) {
        self.running = Some(stage);
    }

    /// Where it went wrong, only those nodes that did are marked, or all of them if nobody in particular did.
    pub fn end(&mut self, went_well: bool, failed: &[String]) {
        let Some(column) = self.running.take().map(|stage| stage as usize) else {
            return;
        };
        for (names, (_, cells)) in self.names.iter().zip(&mut self.board.rows) {
            let named = || names.iter().any(|name| failed.contains(name));
            let fails = !went_well && (failed.is_empty() || named());
            cells[column] = if fails { Cell::Failed } else { Cell::Done };
        }
    }

    /// With what nodes do just now, in words. Who is not asked, or has answered, has nothing to do.
    pub fn with(&self, nodes: &[String], doing: &[Option<String>]) -> Board {
        let mut shown = self.board.clone();
        if let Some(stage) = self.running {
            for (names, (_, cells)) in self.names.iter().zip(&mut shown.rows) {
                let index = nodes.iter().position(|node| names.contains(node));
                let now = index.and_then(|index| doing.get(index).cloned().flatten());
                cells[stage as usize] = now.map_or(Cell::Done, Cell::Running);
            }
        }
        shown
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Board {
    pub title: String,
    pub rows: Vec<(String, [Cell; UpStage::ALL.len()])>,
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
    let stages: Vec<&str> = UpStage::ALL.iter().map(|stage| stage.name()).collect();
    vec![
        Span::new(Tone::Accent, format!("{title:<0$}", width + 2)),
        Span::new(Tone::Quiet, format!("  {}", stages.join("  "))),
        Span::new(Tone::Quiet, format!("  {} s", elapsed.as_secs())),
    ]
}

/// A sign below each stage's name. The words of the one that runs take the place of those ahead.
fn marks(cells: &[Cell]) -> Vec<Span> {
    let mut spans = Vec::new();
    for (stage, cell) in UpStage::ALL.iter().zip(cells) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_node_is_found_by_either_of_its_names() {
        let mut stages = StageBoard::new(&[".", "lab@spark-b"]);
        stages.begin(UpStage::Scan);
        let asked = [".".to_owned(), "lab@spark-b".to_owned()];
        let connecting = || Some("connecting".to_owned());
        let lines = |shown: &Board| board(shown, Duration::ZERO, 79, Palette::Plain);
        let shown = lines(&stages.with(&asked, &[None, connecting()]));
        assert!(shown[1].contains('✓'), "{shown:?}");
        assert!(shown[2].ends_with("connecting"), "{shown:?}");
        stages.end(true, &[]);
        stages.rename(&["spark-a", "spark-b"]);
        stages.begin(UpStage::Apply);
        let shown = lines(&stages.with(&["spark-b".to_owned()], &[connecting()]));
        assert!(shown[1].starts_with("  spark-a"), "{shown:?}");
        assert!(shown[2].ends_with("connecting"), "{shown:?}");
        stages.end(false, &["spark-b".to_owned()]);
        let shown = lines(&stages.with(&[], &[]));
        assert!(
            !shown[1].contains('✗') && shown[2].contains('✗'),
            "{shown:?}"
        );
    }
}
