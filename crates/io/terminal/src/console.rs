//! Whoever sits at the terminal: sees what happens there, and is asked.

use std::{
    io::{self, IsTerminal},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use crosstie_control::{ConsentAnswer, ConsentQuestion, ControlEvent, EventObserver, Prompter};
use crosstie_model::ClusterPlan;
use crosstie_reach::secret::{
    AskPassword, PasswordError, PasswordPurpose, PasswordSource, SecretBytes,
};
use crosstie_report::{
    env::exports,
    init::drawing,
    plan,
    prove::{self, step_line},
    reachability, rollback,
    text::{Palette, printable},
    trial,
    up::findings,
};

use crate::{
    end_on_signal::{restore_terminal_on_signals, set_interrupt_message},
    live_board::{LiveBoard, line},
    output::{ColourChoice, print, print_node_errors, print_sentence, print_stderr},
    password::ask_password,
    progress::ProgressDisplay,
    prompt::{YesNoPrompt, is_there},
};

/// For a person to read a plan.
const APPROVAL_TIMEOUT: Duration = Duration::from_secs(900);

pub struct TerminalConsole {
    draws: bool,
    pub palette: Palette,
    /// What is printed besides it goes to stderr.
    pub json: bool,
    /// A plan is shown with every line that it changes.
    with_diff: bool,
    progress: ProgressDisplay,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The stages of `up`.
    board: Option<LiveBoard>,
    /// Why something was not printed.
    unprinted: Option<io::Error>,
}

impl TerminalConsole {
    pub fn new(colour: ColourChoice, json: bool) -> Arc<Self> {
        Self::with_diff(colour, json, false)
    }

    /// One that shows every line that a plan changes, or only what it comes to.
    pub fn with_diff(colour: ColourChoice, json: bool, with_diff: bool) -> Arc<Self> {
        restore_terminal_on_signals();
        let draws = colour.draws();
        Arc::new(Self {
            draws,
            palette: colour.palette(),
            json,
            with_diff,
            progress: ProgressDisplay::new(draws),
            state: Mutex::default(),
        })
    }

    /// Who is asked for a password that was not given otherwise.
    pub fn passwords(self: &Arc<Self>) -> PasswordSource {
        if io::stderr().is_terminal() {
            PasswordSource::Person(Arc::clone(self) as Arc<dyn AskPassword>)
        } else {
            PasswordSource::Nobody
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Data, unless JSON is.
    fn say(&self, text: &str) {
        if self.json {
            self.tell(text);
        } else {
            self.print(text);
        }
    }

    fn print(&self, text: &str) {
        if let Err(error) = self.progress.above(|| print(text)) {
            self.state().unprinted.get_or_insert(error);
        }
    }

    fn tell(&self, text: &str) {
        self.progress.above(|| print_stderr(text));
    }

    fn tell_sentence(&self, text: &str) {
        self.progress.above(|| print_sentence(text));
    }

    /// Somebody else draws from now on.
    pub fn stop_drawing(&self) {
        self.progress.stop();
    }

    /// What could not be printed is an error.
    pub fn finish(&self) -> io::Result<()> {
        self.state().unprinted.take().map_or(Ok(()), Err)
    }

    /// Where nodes and stages are.
    fn draw(&self, event: &ControlEvent<'_>) {
        let progress = &self.progress;
        let mut shown = self.state();
        match (event, shown.board.as_ref()) {
            (ControlEvent::RoundBegan { nodes, prompts }, _) => progress.begin(nodes, *prompts),
            (ControlEvent::Node { index, stage }, _) => progress.stage(*index, *stage),
            (ControlEvent::NodeDone { index }, _) => progress.done(*index),
            (ControlEvent::RoundEnded, _) => progress.end(),
            (ControlEvent::UpBegan { nodes }, _) => {
                let board = LiveBoard::new(nodes, self.palette);
                progress.set_board(Some(board.view()));
                shown.board = Some(board);
            }
            (ControlEvent::UpEnded { went_well }, Some(board)) => {
                progress.set_board(None);
                if self.draws && !went_well {
                    board.final_lines();
                }
                shown.board = None;
            }
            (ControlEvent::HostNames(hosts), Some(board)) => board.board().rename(hosts),
            (ControlEvent::StageBegan(begun), Some(board)) => board.board().begin(*begun),
            (
                ControlEvent::StageEnded {
                    stage,
                    took,
                    summary,
                    went_well,
                    failing,
                },
                Some(board),
            ) => {
                board.board().end(*went_well, failing);
                if !self.draws {
                    line(*stage, *took, summary);
                }
            }
            _ => {}
        }
    }

    fn plan(&self, plan: &ClusterPlan) -> String {
        plan::view(plan, &[], "", self.palette)
    }
}

impl EventObserver for TerminalConsole {
    fn observe(&self, event: ControlEvent<'_>) {
        let palette = self.palette;
        match event {
            ControlEvent::InterruptMessage(words) => set_interrupt_message(words),
            ControlEvent::ClusterFile { file } => {
                let text = match file {
                    Some(path) => path.display().to_string(),
                    None => "the lab's own".to_owned(),
                };
                self.tell_sentence(&format!("cluster file: {text}"));
            }
            ControlEvent::Planned(plan) => {
                let text = if self.with_diff {
                    self.plan(plan)
                } else {
                    plan::summary(plan, palette)
                };
                self.say(&text);
            }
            ControlEvent::RollbackPlanned(plan) => {
                self.say(&(rollback::view(plan, palette) + "\n"));
            }
            ControlEvent::TrialBegins => self.tell(&trial::rollback_notice(palette)),
            ControlEvent::TrialEnded(ended) => self.print(&trial::view(ended)),
            ControlEvent::NodesFailed(failed) => self.progress.above(|| print_node_errors(failed)),
            ControlEvent::Notice(text) => self.tell_sentence(&format!("note: {text}")),
            ControlEvent::Cabled(found) => {
                let (surveys, wiring) = (&found.surveys, &found.wiring);
                let text = drawing(&found.found, surveys, wiring, palette);
                self.say(&format!("{text}\n"));
            }
            ControlEvent::Diagnosed { seen, doctor } => {
                let text = findings(seen, doctor, palette);
                if !text.is_empty() {
                    self.say(&format!("{text}\n"));
                }
            }
            ControlEvent::Proven(proof) => {
                self.say(&format!("{}\n", reachability::view(proof, palette)));
            }
            ControlEvent::Measured(measured) => {
                self.say(&format!("{}\n", prove::view(measured, palette)));
            }
            ControlEvent::TestBegan { name, within } => {
                let (name, seconds) = (printable(name), within.as_secs());
                self.tell_sentence(&format!("measuring {name} (deadline {seconds} s)"));
            }
            ControlEvent::StepBegan {
                step,
                board,
                steps_left,
            } => {
                let text = step_line(step, board, steps_left);
                self.tell_sentence(&text);
            }
            ControlEvent::Settings(all) => {
                let nodes = all.iter();
                let nodes = nodes.map(|one| (one.node.as_str(), one.settings.as_slice()));
                self.say(&exports(&nodes.collect::<Vec<_>>(), false, palette));
            }
            event => self.draw(&event),
        }
    }
}

impl AskPassword for TerminalConsole {
    fn ask_password(&self, purpose: &PasswordPurpose) -> Result<SecretBytes, PasswordError> {
        self.progress.paused(|| ask_password(purpose))
    }
}

impl Prompter for TerminalConsole {
    fn is_present(&self) -> bool {
        is_there()
    }

    fn output_arrived(&self) -> bool {
        self.state().unprinted.is_none()
    }

    fn ask(&self, question: &ConsentQuestion) -> ConsentAnswer {
        let show = || {
            let text = question.plan.map(|plan| self.plan(plan));
            let text = text.unwrap_or_default();
            // Where stdout goes elsewhere, the person who is asked reads stderr.
            if io::stdout().is_terminal() {
                let _ = print(&text);
            } else {
                print_stderr(&text);
            }
        };
        let prompt = YesNoPrompt {
            text: question.text,
            ask: question.ask,
            diff: question.plan.map(|_| &show as &dyn Fn()),
            until: question
                .until
                .unwrap_or_else(|| Instant::now() + APPROVAL_TIMEOUT),
            shows_time: question.until.is_some(),
        };
        self.progress.paused(|| prompt.ask())
    }
}
