//! Whoever sits at the terminal: sees what happens there, and is asked.

use std::{
    io::{self, IsTerminal},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use clap::ColorChoice;
use crosstie_control::{Event, Observer, PROMPT_TIMEOUT, Prompter};
use crosstie_reach::secret::{AskPassword, PasswordError, Purpose, Secret, Source};
use crosstie_report::{
    init::drawing,
    plan, proof,
    prove::step_line,
    rollback,
    text::{Palette, printable},
    trial,
    up::{environments, findings},
};
use crosstie_terminal::{
    Live, Progress, approve, approve_before, ask_password, is_there, leave_terminal_on_signals,
    line, set_last_words,
};

use crate::output;

pub(crate) struct Console {
    draws: bool,
    pub(crate) palette: Palette,
    /// What is printed besides it goes to stderr.
    pub(crate) json: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Of the nodes that are worked on now.
    progress: Option<Progress>,
    /// The stages of `up`.
    board: Option<Live>,
    /// Why something was not printed.
    unprinted: Option<io::Error>,
}

impl Console {
    pub(crate) fn new(colour: ColorChoice, json: bool) -> Arc<Self> {
        leave_terminal_on_signals();
        Arc::new(Self {
            draws: output::draws(colour),
            palette: output::palette(colour),
            json,
            state: Mutex::default(),
        })
    }

    /// Who is asked for a password that was not given otherwise.
    pub(crate) fn passwords(self: &Arc<Self>) -> Source {
        if io::stderr().is_terminal() {
            Source::Person(Arc::clone(self) as Arc<dyn AskPassword>)
        } else {
            Source::Nobody
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Data, unless JSON is.
    fn say(&self, text: &str) {
        if self.json {
            output::tell(text);
        } else {
            self.print(text);
        }
    }

    fn print(&self, text: &str) {
        if let Err(error) = output::print(text) {
            self.state().unprinted.get_or_insert(error);
        }
    }

    /// Leaves the stages of `up` on the screen as they stand.
    pub(crate) fn leave_board(&self) {
        let state = self.state();
        if let Some(board) = state.board.as_ref().filter(|_| self.draws) {
            board.leave();
        }
    }

    /// What could not be printed is an error.
    pub(crate) fn finish(&self) -> io::Result<()> {
        self.state().unprinted.take().map_or(Ok(()), Err)
    }

    /// Where nodes and stages are.
    fn draw(&self, event: &Event<'_>) {
        let mut locked = self.state();
        let State {
            progress, board, ..
        } = &mut *locked;
        match (event, progress.as_ref(), board.as_ref()) {
            (Event::RoundBegan { nodes, prompts }, drawn, board) => {
                if let Some(drawn) = drawn {
                    drawn.stop();
                }
                let view = board.map(Live::view);
                *progress = Some(Progress::start(nodes, *prompts, self.draws, view));
            }
            (Event::Node { index, stage }, Some(progress), _) => progress.stage(*index, *stage),
            (Event::NodeDone { index }, Some(progress), _) => progress.done(*index),
            (Event::RoundEnded, Some(drawn), _) => {
                drawn.stop();
                *progress = None;
            }
            (Event::UpBegan { nodes }, ..) => *board = Some(Live::new(nodes, self.palette)),
            (Event::HostNames(hosts), _, Some(board)) => board.board().rename(hosts),
            (Event::StageBegan(stage), _, Some(board)) => board.board().begin(*stage),
            (
                Event::StageEnded {
                    stage,
                    took,
                    says,
                    went_well,
                    failing,
                },
                _,
                Some(board),
            ) => {
                board.board().end(*went_well, failing);
                if !self.draws {
                    line(*stage, *took, says);
                }
            }
            _ => {}
        }
    }
}

impl Observer for Console {
    fn observe(&self, event: Event<'_>) {
        let palette = self.palette;
        match event {
            Event::LastWords(words) => set_last_words(words),
            Event::ClusterFile { file } => {
                let text = match file {
                    Some(path) => path.display().to_string(),
                    None => "the lab's own".to_owned(),
                };
                output::tell(&format!("cluster file: {}\n", printable(&text)));
            }
            Event::Planned(plan) => {
                let text = plan::view(plan, &[], "", palette);
                // A question follows.
                let end = if self.json { "" } else { "\n" };
                self.say(&format!("{text}{end}"));
            }
            Event::RollbackPlanned(plan) => self.say(&(rollback::view(plan, palette) + "\n")),
            Event::TrialBegins => output::tell(trial::UNDONE),
            Event::TrialEnded(ended) => self.print(&trial::view(ended)),
            Event::NodesFailed(failed) => output::complain_of(failed),
            Event::Cabled(found) => {
                let (stations, wiring) = (&found.stations, &found.wiring);
                let text = drawing(&found.found, stations, wiring, palette);
                self.say(&format!("{text}\n"));
            }
            Event::Diagnosed(seen) => {
                let text = findings(seen, palette);
                if !text.is_empty() {
                    self.say(&format!("{text}\n"));
                }
            }
            Event::Proven(proof) => self.say(&format!("{}\n", proof::view(proof, palette))),
            Event::TestBegan { name, within } => {
                let (name, seconds) = (printable(name), within.as_secs());
                output::tell(&format!("measuring {name} (deadline {seconds} s)\n"));
            }
            Event::StepBegan {
                step,
                board,
                steps_left,
            } => {
                let text = step_line(step, board, steps_left);
                output::tell(&format!("{}\n", printable(&text)));
            }
            Event::Settings(all) => self.say(&environments(all, palette)),
            event => self.draw(&event),
        }
    }
}

impl AskPassword for Console {
    fn ask_password(&self, purpose: &Purpose) -> Result<Secret, PasswordError> {
        ask_password(purpose)
    }
}

impl Prompter for Console {
    fn is_present(&self) -> bool {
        is_there()
    }

    fn has_seen(&self) -> bool {
        self.state().unprinted.is_none()
    }

    fn approve(&self, question: &str) -> bool {
        approve(question, PROMPT_TIMEOUT)
    }

    fn approve_before(&self, question: &str, until: Instant) -> bool {
        approve_before(question, until)
    }
}
