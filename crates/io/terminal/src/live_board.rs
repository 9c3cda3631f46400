//! Stages × nodes while they run: drawn on a terminal, a line a stage elsewhere.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use crosstie_report::{
    text::Palette,
    up::{StageBoard, TerminalSize, UpStage, board},
};

use crate::{charset::for_terminal, output::print_behind, progress::ProgressView, size};

/// Shared with whoever draws.
#[derive(Clone)]
pub(crate) struct LiveBoard {
    began: Instant,
    palette: Palette,
    board: Arc<Mutex<StageBoard>>,
}

impl LiveBoard {
    pub(crate) fn new(nodes: &[&str], palette: Palette) -> Self {
        Self {
            began: Instant::now(),
            palette,
            board: Arc::new(Mutex::new(StageBoard::new(nodes))),
        }
    }

    pub(crate) fn board(&self) -> MutexGuard<'_, StageBoard> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For whoever draws progress.
    pub(crate) fn view(&self) -> ProgressView {
        let live = self.clone();
        Arc::new(move |nodes, doing, size| live.lines(nodes, doing, size))
    }

    fn lines(&self, nodes: &[String], doing: &[Option<String>], size: TerminalSize) -> Vec<String> {
        let shown = self.board().with(nodes, doing);
        board(&shown, self.began.elapsed(), size, self.palette)
    }

    /// As it stands, for good.
    pub(crate) fn final_lines(&self) {
        let lines = self.lines(&[], &[], size::drawn()).join("\n");
        // Nobody is left to tell if stderr is gone.
        let _ = writeln!(io::stderr(), "{}\n", for_terminal(&lines));
    }
}

/// One line for a stage that ended, where nothing is drawn.
pub(crate) fn line(stage: UpStage, took: Duration, summary: &str) {
    let seconds = took.as_secs_f64();
    print_behind(&format!("{stage:<8} {seconds:>6.1} s  "), summary);
}
