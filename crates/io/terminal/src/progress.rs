//! Where each node is, on a terminal, once a person has waited for a while; and the stages of `up`, all the time.

use std::{
    io::{self, Write},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use crosstie_model::Bytes;
use crosstie_reach::NodeStage;
use crosstie_report::{progress, text::printable, up::TerminalSize};

use crate::{charset::for_terminal, drawn_area::DrawnArea, size};

/// What takes less needs no words.
const SHOW_AFTER_TIMEOUT: Duration = Duration::from_secs(1);

const REDRAW_INTERVAL: Duration = Duration::from_millis(200);

/// Draws nodes and what each of them does, in so much room.
pub(crate) type ProgressView =
    Arc<dyn Fn(&[String], &[Option<String>], TerminalSize) -> Vec<String> + Send + Sync>;

pub(crate) struct ProgressDisplay {
    shared: Arc<Shared>,
    /// Absent where nothing is drawn.
    drawing: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
    area: DrawnArea,
    round: Option<Round>,
    /// Drawn instead of the round, and between rounds.
    board: Option<ProgressView>,
    /// Somebody is asked.
    is_paused: bool,
    has_ended: bool,
}

/// Nodes that are worked on now.
struct Round {
    nodes: Vec<String>,
    /// Nothing is drawn over a question that ssh may ask.
    prompts: bool,
    /// `None` once a node is done.
    stages: Vec<Option<NodeStage>>,
    began: Instant,
}

impl ProgressDisplay {
    pub(crate) fn new(draws: bool) -> Self {
        let shared = Arc::new(Shared::default());
        let other = Arc::clone(&shared);
        Self {
            shared,
            drawing: Mutex::new(draws.then(|| thread::spawn(move || other.draw()))),
        }
    }

    pub(crate) fn begin(&self, nodes: &[String], prompts: bool) {
        let mut state = self.shared.state();
        state.round = Some(Round {
            nodes: nodes.iter().map(|node| printable(node)).collect(),
            prompts,
            stages: vec![Some(NodeStage::Connecting); nodes.len()],
            began: Instant::now(),
        });
        if prompts {
            state.erase();
        }
    }

    pub(crate) fn end(&self) {
        let mut state = self.shared.state();
        state.round = None;
        if state.board.is_none() {
            state.erase();
        }
    }

    pub(crate) fn stage(&self, node: usize, stage: NodeStage) {
        self.set(node, Some(stage));
    }

    pub(crate) fn done(&self, node: usize) {
        self.set(node, None);
    }

    /// `None` once it is done.
    fn set(&self, node: usize, doing: Option<NodeStage>) {
        let mut state = self.shared.state();
        let stages = state.round.as_mut().map(|round| &mut round.stages);
        if let Some(slot) = stages.and_then(|stages| stages.get_mut(node)) {
            *slot = doing;
        }
        if doing == Some(NodeStage::Asking) {
            state.erase();
        }
    }

    pub(crate) fn set_board(&self, board: Option<ProgressView>) {
        let mut state = self.shared.state();
        state.board = board;
        state.erase();
    }

    /// Something is written where lines are drawn: it stands above them.
    pub(crate) fn above<T>(&self, write: impl FnOnce() -> T) -> T {
        let mut state = self.shared.state();
        state.erase();
        write()
    }

    /// Nothing is drawn any more.
    pub(crate) fn stop(&self) {
        let mut state = self.shared.state();
        state.has_ended = true;
        state.erase();
    }

    /// Nothing is drawn meanwhile.
    pub(crate) fn paused<T>(&self, work: impl FnOnce() -> T) -> T {
        {
            let mut state = self.shared.state();
            state.is_paused = true;
            state.erase();
        }
        let done = work();
        self.shared.state().is_paused = false;
        done
    }
}

impl Drop for ProgressDisplay {
    fn drop(&mut self) {
        {
            let mut state = self.shared.state();
            state.has_ended = true;
            state.erase();
        }
        self.shared.wake.notify_all();
        let drawing = self.drawing.get_mut();
        let drawing = drawing.unwrap_or_else(PoisonError::into_inner).take();
        if let Some(drawing) = drawing {
            let _ = drawing.join();
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn draw(&self) {
        let mut state = self.state();
        loop {
            (state, _) = self
                .wake
                .wait_timeout(state, REDRAW_INTERVAL)
                .unwrap_or_else(PoisonError::into_inner);
            if state.has_ended {
                return;
            }
            let lines = state.lines();
            show(&state.area.draw(lines));
        }
    }
}

impl State {
    fn erase(&mut self) {
        show(&self.area.erase());
    }

    fn lines(&self) -> Vec<String> {
        let asks = self.round.as_ref().is_some_and(Round::asks);
        if self.is_paused || asks {
            return Vec::new();
        }
        let size = size::drawn();
        let lines = match (&self.board, &self.round) {
            (Some(board), Some(round)) => board(&round.nodes, &round.doing(), size),
            (Some(board), None) => board(&[], &[], size),
            (None, Some(round)) => round.lines(size),
            (None, None) => Vec::new(),
        };
        let lines = lines.iter().map(|line| for_terminal(line).into_owned());
        lines.collect()
    }
}

impl Round {
    fn asks(&self) -> bool {
        self.stages.contains(&Some(NodeStage::Asking))
            || (self.prompts && self.stages.contains(&Some(NodeStage::Connecting)))
    }

    fn doing(&self) -> Vec<Option<String>> {
        let stages = self.stages.iter();
        stages.map(|stage| stage.map(describe)).collect()
    }

    fn lines(&self, size: TerminalSize) -> Vec<String> {
        let elapsed = self.began.elapsed();
        if elapsed < SHOW_AFTER_TIMEOUT {
            return Vec::new();
        }
        progress::lines(&self.nodes, &self.doing(), elapsed, size)
    }
}

fn show(text: &str) {
    if text.is_empty() {
        return;
    }
    let mut stderr = io::stderr().lock();
    // Nobody is left to see it if stderr is gone.
    let _ = stderr
        .write_all(text.as_bytes())
        .and_then(|()| stderr.flush());
}

/// In words.
fn describe(stage: NodeStage) -> String {
    match stage {
        NodeStage::Connecting => "connecting".to_owned(),
        NodeStage::Copying { done, total } => {
            let bytes = |count: usize| Bytes(count as u64);
            format!("copying the agent: {} of {}", bytes(done), bytes(total))
        }
        NodeStage::Asking => "waiting for a password".to_owned(),
        NodeStage::Starting => "starting the agent".to_owned(),
        NodeStage::Reading => "reading".to_owned(),
        NodeStage::Waiting => "waiting for its turn".to_owned(),
        NodeStage::Changing => "changing files".to_owned(),
        NodeStage::Probing => "trying whom it reaches".to_owned(),
        NodeStage::Confirming => "confirming".to_owned(),
        NodeStage::RollingBack => "rolling back".to_owned(),
        NodeStage::Measuring { megabits: 0 } => "measuring".to_owned(),
        NodeStage::Measuring { megabits } => {
            format!(
                "measuring, {}.{} Gb/s",
                megabits / 1000,
                megabits % 1000 / 100
            )
        }
        NodeStage::Listening => "listening on its ports".to_owned(),
        NodeStage::Receiving { bytes } => format!("receiving {}", Bytes(bytes)),
    }
}
