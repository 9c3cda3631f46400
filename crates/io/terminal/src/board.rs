//! Stages × nodes while they run: drawn on a terminal, a line a stage elsewhere.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use crosstie_report::{
    text::{Palette, printable},
    up::{StageBoard, UpStage, board},
};

use crate::progress::{View, columns};

/// Shared with whoever draws.
#[derive(Clone)]
pub struct Live {
    began: Instant,
    palette: Palette,
    board: Arc<Mutex<StageBoard>>,
}

impl Live {
    pub fn new(nodes: &[&str], palette: Palette) -> Self {
        Self {
            began: Instant::now(),
            palette,
            board: Arc::new(Mutex::new(StageBoard::new(nodes))),
        }
    }

    pub fn board(&self) -> MutexGuard<'_, StageBoard> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For whoever draws progress.
    pub fn view(&self) -> View {
        let live = self.clone();
        Arc::new(move |nodes, doing, columns| live.lines(nodes, doing, columns))
    }

    fn lines(&self, nodes: &[String], doing: &[Option<String>], columns: usize) -> Vec<String> {
        let shown = self.board().with(nodes, doing);
        board(&shown, self.began.elapsed(), columns, self.palette)
    }

    /// As it stands, for good.
    pub fn leave(&self) {
        let lines = self.lines(&[], &[], columns());
        // Nobody is left to tell if stderr is gone.
        let _ = writeln!(io::stderr(), "{}\n", lines.join("\n"));
    }
}

/// One line for a stage that ended, where nothing is drawn.
pub fn line(stage: UpStage, took: Duration, says: &str) {
    let seconds = took.as_secs_f64();
    let _ = writeln!(
        io::stderr(),
        "{stage:<8} {seconds:>6.1} s  {}",
        printable(says)
    );
}
