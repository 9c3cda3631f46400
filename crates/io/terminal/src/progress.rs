//! Where each node is, on a terminal, once a person has waited for a while.

use std::{
    io::{self, Write},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use crosstie_model::Bytes;
use crosstie_reach::Stage;
use crosstie_report::{progress, text::printable};
use rustix::termios::tcgetwinsize;

/// What takes less needs no words.
const PATIENCE: Duration = Duration::from_secs(1);

const FRAME: Duration = Duration::from_millis(200);

/// Draws nodes and what each of them does, in lines of at most so many columns.
pub type View = Arc<dyn Fn(&[String], &[Option<String>], usize) -> Vec<String> + Send + Sync>;

pub struct Progress {
    shared: Arc<Shared>,
    drawing: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    nodes: Vec<String>,
    /// Nothing is drawn over a question that ssh may ask.
    prompts: bool,
    /// Instead of the usual one; drawn at once, since it tells of more than this wait.
    view: Option<View>,
    board: Mutex<Board>,
    stopped: AtomicBool,
    wake: Condvar,
}

struct Board {
    /// `None` once a node is done.
    stages: Vec<Option<Stage>>,
    /// Lines on the terminal now.
    drawn: usize,
}

impl Progress {
    pub fn start(nodes: &[String], prompts: bool, draw: bool, view: Option<View>) -> Self {
        let shared = Arc::new(Shared {
            nodes: nodes.iter().map(|node| printable(node)).collect(),
            prompts,
            view,
            board: Mutex::new(Board {
                stages: vec![Some(Stage::Connecting); nodes.len()],
                drawn: 0,
            }),
            stopped: AtomicBool::new(false),
            wake: Condvar::new(),
        });
        let drawn = Arc::clone(&shared);
        let drawing = draw.then(|| thread::spawn(move || drawn.draw()));
        Self {
            shared,
            drawing: Mutex::new(drawing),
        }
    }

    pub fn stage(&self, node: usize, stage: Stage) {
        self.set(node, Some(stage));
    }

    pub fn done(&self, node: usize) {
        self.set(node, None);
    }

    /// `None` once it is done.
    fn set(&self, node: usize, stage: Option<Stage>) {
        let mut board = self.shared.board();
        if let Some(slot) = board.stages.get_mut(node) {
            *slot = stage;
        }
        if stage == Some(Stage::Asking) {
            board.draw(&[]);
        }
    }

    /// Leaves the terminal as it was.
    pub fn stop(&self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        self.shared.wake.notify_all();
        let drawing = self
            .drawing
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(drawing) = drawing {
            let _ = drawing.join();
        }
    }
}

impl Board {
    fn draw(&mut self, lines: &[String]) {
        let mut text = erase(self.drawn);
        for line in lines {
            text += line;
            text.push('\n');
        }
        show(&text);
        self.drawn = lines.len();
    }
}

impl Shared {
    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn draw(&self) {
        let started = Instant::now();
        let patience = if self.view.is_some() { FRAME } else { PATIENCE };
        let mut board = self.board();
        loop {
            let wait = if board.drawn == 0 { patience } else { FRAME };
            (board, _) = self
                .wake
                .wait_timeout(board, wait)
                .unwrap_or_else(PoisonError::into_inner);
            if self.stopped.load(Ordering::SeqCst) {
                board.draw(&[]);
                return;
            }
            let asking = board.stages.contains(&Some(Stage::Asking))
                || (self.prompts && board.stages.contains(&Some(Stage::Connecting)));
            if !asking && started.elapsed() >= patience {
                let lines = self.lines(&board.stages, started.elapsed());
                board.draw(&lines);
            }
        }
    }

    fn lines(&self, stages: &[Option<Stage>], elapsed: Duration) -> Vec<String> {
        let doing: Vec<Option<String>> = stages.iter().map(|stage| stage.map(describe)).collect();
        let columns = columns();
        if let Some(view) = &self.view {
            return view(&self.nodes, &doing, columns);
        }
        let cut = |line: String| line.chars().take(columns).collect();
        let lines = progress::lines(&self.nodes, &doing, elapsed).into_iter();
        lines.map(cut).collect()
    }
}

/// A line that wraps would be two to erase.
pub(crate) fn columns() -> usize {
    let width = tcgetwinsize(io::stderr()).map_or(0, |size| usize::from(size.ws_col));
    let width = if width == 0 { 80 } else { width };
    width.saturating_sub(1)
}

/// Up, and everything below cleared (ECMA-48: CUU, ED).
fn erase(lines: usize) -> String {
    if lines == 0 {
        String::new()
    } else {
        format!("\x1b[{lines}A\x1b[J")
    }
}

fn show(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = stderr
        .write_all(text.as_bytes())
        .and_then(|()| stderr.flush());
}

/// In words.
fn describe(stage: Stage) -> String {
    match stage {
        Stage::Connecting => "connecting".to_owned(),
        Stage::Copying { done, total } => {
            let bytes = |count: usize| Bytes(count as u64);
            format!("copying the agent: {} of {}", bytes(done), bytes(total))
        }
        Stage::Asking => "waiting for a password".to_owned(),
        Stage::Starting => "starting the agent".to_owned(),
        Stage::Reading => "reading".to_owned(),
        Stage::Waiting => "waiting for its turn".to_owned(),
        Stage::Changing => "changing files".to_owned(),
        Stage::Probing => "trying whom it reaches".to_owned(),
        Stage::Confirming => "confirming".to_owned(),
        Stage::GoingBack => "putting it back".to_owned(),
        Stage::Measuring { megabits: 0 } => "measuring".to_owned(),
        Stage::Measuring { megabits } => {
            format!(
                "measuring, {}.{} Gb/s",
                megabits / 1000,
                megabits % 1000 / 100
            )
        }
        Stage::Listening => "listening on its ports".to_owned(),
        Stage::Receiving { bytes } => format!("receiving {}", Bytes(bytes)),
    }
}
