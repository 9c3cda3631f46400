//! Stages × nodes while they run: drawn on a terminal, a line a stage elsewhere.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use crosstie_reach::Stage as Doing;
use crosstie_report::{
    text::{Palette, printable},
    up::{Board, Cell, Stage, board},
};

use crate::progress::{View, columns, describe};

/// Shared with whoever draws.
#[derive(Clone)]
pub(crate) struct Live {
    began: Instant,
    palette: Palette,
    state: Arc<Mutex<State>>,
}

struct State {
    board: Board,
    /// What each row may be called: as the person does, and as the node does.
    names: Vec<Vec<String>>,
    running: Option<Stage>,
}

impl Live {
    pub(crate) fn new(nodes: &[&str], palette: Palette) -> Self {
        let row = |name: &&str| (printable(name), <[Cell; Stage::ALL.len()]>::default());
        let state = State {
            board: Board {
                title: "crosstie up".to_owned(),
                rows: nodes.iter().map(row).collect(),
            },
            names: nodes.iter().map(|name| vec![printable(name)]).collect(),
            running: None,
        };
        Self {
            began: Instant::now(),
            palette,
            state: Arc::new(Mutex::new(state)),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the cluster is called, and the nodes call themselves.
    pub(crate) fn rename(&self, hosts: &[&str]) {
        let mut state = self.state();
        for (index, host) in hosts.iter().enumerate() {
            let host = printable(host);
            state.board.rows[index].0.clone_from(&host);
            state.names[index].push(host);
        }
    }

    pub(crate) fn begin(&self, stage: Stage) {
        self.state().running = Some(stage);
    }

    /// Where it went wrong, only those nodes that did are marked, or all of them if nobody in particular did.
    pub(crate) fn end(&self, went_well: bool, failed: &[String]) {
        let mut guarded = self.state();
        let Some(column) = guarded.running.take().map(|stage| stage as usize) else {
            return;
        };
        let State { board, names, .. } = &mut *guarded;
        for (names, (_, cells)) in names.iter().zip(&mut board.rows) {
            let named = || names.iter().any(|name| failed.contains(name));
            let fails = !went_well && (failed.is_empty() || named());
            cells[column] = if fails { Cell::Failed } else { Cell::Done };
        }
    }

    /// For whoever draws progress.
    pub(crate) fn view(&self) -> View {
        let live = self.clone();
        Arc::new(move |nodes, doing, columns| live.lines(nodes, doing, columns))
    }

    fn lines(&self, nodes: &[String], doing: &[Option<Doing>], columns: usize) -> Vec<String> {
        let state = self.state();
        let mut shown = state.board.clone();
        if let Some(stage) = state.running {
            for (names, (_, cells)) in state.names.iter().zip(&mut shown.rows) {
                let index = nodes.iter().position(|node| names.contains(node));
                let now = index.and_then(|index| doing.get(index).copied().flatten());
                // Who is not asked, or has answered, has nothing to do.
                cells[stage as usize] = now.map_or(Cell::Done, |now| Cell::Running(describe(now)));
            }
        }
        board(&shown, self.began.elapsed(), columns, self.palette)
    }

    /// As it stands, for good.
    pub(crate) fn leave(&self) {
        let lines = self.lines(&[], &[], columns());
        // Nobody is left to tell if stderr is gone.
        let _ = writeln!(io::stderr(), "{}\n", lines.join("\n"));
    }
}

/// One line for a stage that ended, where nothing is drawn.
pub(crate) fn line(stage: Stage, took: Duration, says: &str) {
    let seconds = took.as_secs_f64();
    let _ = writeln!(
        io::stderr(),
        "{stage:<8} {seconds:>6.1} s  {}",
        printable(says)
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_node_is_found_by_either_of_its_names() {
        let live = Live::new(&[".", "lab@spark-b"], Palette::Plain);
        live.begin(Stage::Scan);
        let asked = [".".to_owned(), "lab@spark-b".to_owned()];
        let shown = live.lines(&asked, &[None, Some(Doing::Connecting)], 79);
        assert!(shown[1].contains('✓'), "{shown:?}");
        assert!(shown[2].ends_with("connecting"), "{shown:?}");
        live.end(true, &[]);
        live.rename(&["spark-a", "spark-b"]);
        live.begin(Stage::Apply);
        let shown = live.lines(&["spark-b".to_owned()], &[Some(Doing::Confirming)], 79);
        assert!(shown[1].starts_with("  spark-a"), "{shown:?}");
        assert!(shown[2].ends_with("confirming"), "{shown:?}");
        live.end(false, &["spark-b".to_owned()]);
        let shown = live.lines(&[], &[], 79);
        assert!(
            !shown[1].contains('✗') && shown[2].contains('✗'),
            "{shown:?}"
        );
    }
}
