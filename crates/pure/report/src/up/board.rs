//! Stages × nodes, drawn while they run.

mod draw;

use super::UpStage;
use crate::text::printable;

pub use draw::{TerminalSize, board};

/// Stages as they are begun and ended.
#[derive(Debug, Clone)]
pub struct StageBoard {
    board: ProgressBoard,
    /// What each row may be called: as the person does, and as the node does.
    names: Vec<Vec<String>>,
    running: Option<UpStage>,
}

impl StageBoard {
    pub fn new(nodes: &[&str]) -> Self {
        let row = |name: &&str| {
            (
                printable(name),
                <[StageCell; UpStage::ALL.len()]>::default(),
            )
        };
        Self {
            board: ProgressBoard {
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
            cells[column] = if fails {
                StageCell::Failed
            } else {
                StageCell::Done
            };
        }
    }

    /// With what nodes do just now, in words. Who is not asked, or has answered, has nothing to do.
    pub fn with(&self, nodes: &[String], doing: &[Option<String>]) -> ProgressBoard {
        let mut shown = self.board.clone();
        if let Some(stage) = self.running {
            for (names, (_, cells)) in self.names.iter().zip(&mut shown.rows) {
                let index = nodes.iter().position(|node| names.contains(node));
                let now = index.and_then(|index| doing.get(index).cloned().flatten());
                cells[stage as usize] = now.map_or(StageCell::Done, StageCell::Running);
            }
        }
        shown
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProgressBoard {
    pub title: String,
    pub rows: Vec<ProgressBoardRow>,
}

/// A node, and where it is with each stage.
pub type ProgressBoardRow = (String, [StageCell; UpStage::ALL.len()]);

/// Where one node is with one stage.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum StageCell {
    #[default]
    Ahead,
    /// In words.
    Running(String),
    Done,
    Failed,
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::text::Palette;

    fn lines(shown: &ProgressBoard, columns: usize, lines: usize) -> Vec<String> {
        let size = TerminalSize { columns, lines };
        board(shown, Duration::from_secs(7), size, Palette::Plain)
    }

    #[test]
    fn each_node_is_found_by_either_of_its_names() {
        let mut stages = StageBoard::new(&[".", "lab@spark-b"]);
        stages.begin(UpStage::Scan);
        let asked = [".".to_owned(), "lab@spark-b".to_owned()];
        let connecting = || Some("connecting".to_owned());
        let lines = |shown: &ProgressBoard| lines(shown, 79, 24);
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
    #[test]
    fn signs_stand_below_their_stages() {
        let mut stages = StageBoard::new(&["a", "b"]);
        stages.begin(UpStage::Scan);
        stages.end(true, &[]);
        stages.begin(UpStage::Cabling);
        stages.end(false, &["b".to_owned()]);
        let shown = lines(&stages.with(&[], &[]), 79, 24);
        let at = |line: &str, text: &str| {
            let found = line
                .find(text)
                .unwrap_or_else(|| panic!("{text} in {line}"));
            line[..found].chars().count()
        };
        assert_eq!(at(&shown[0], "scan"), at(&shown[1], "✓"), "{shown:#?}");
        assert_eq!(at(&shown[0], "cabling"), at(&shown[2], "✗"), "{shown:#?}");
    }

    #[test]
    fn a_board_is_as_small_as_its_terminal() {
        let names: Vec<String> = (0..20).map(|index| format!("spark-{index}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut stages = StageBoard::new(&names);
        stages.begin(UpStage::Scan);
        let late = ["spark-19".to_owned()];
        let doing = [Some("copying the agent: 12 MiB of 46 MiB".to_owned())];
        let shown = lines(&stages.with(&late, &doing), 39, 9);
        insta::assert_snapshot!(shown.join("\n"), @r"
        crosstie up  7 s  scan
          spark-0   ✓·······
          spark-1   ✓·······
          spark-2   ✓·······
          spark-3   ✓·······
          spark-4   ✓·······
          spark-5   ✓·······
          spark-19  ⋯·······  copying the agent
          and 13 more
        ");
        assert!(shown.iter().all(|line| line.chars().count() <= 39));
    }
}
