//! What a person may be told while nodes are worked on, and what they may be asked.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use crosstie_grade::{
    campaign::{Board, Step},
    reach::Proof,
};
use crosstie_model::{Plan, change::Ended};
use crosstie_reach::{
    Stage,
    secret::{AskPassword, PasswordError, Purpose, Secret},
};
use crosstie_report::{rollback::RollbackPlan, up};

use crate::{NodesFailed, init::Discovered};

/// What happens, as it happens.
#[derive(Debug)]
pub enum Event<'a> {
    /// Work on these nodes begins. Until [`Event::RoundEnded`], events name them by their place in this list.
    RoundBegan {
        nodes: &'a [String],
        /// ssh may ask on the terminal while it connects.
        prompts: bool,
    },
    Node {
        index: usize,
        stage: Stage,
    },
    NodeDone {
        index: usize,
    },
    RoundEnded,
    /// From now on this is what whoever interrupts the command has to know; empty where there is nothing.
    LastWords(&'a str),
    /// The cluster file that counts; absent for a lab's own.
    ClusterFile {
        file: Option<&'a Path>,
    },
    /// This is about to be carried out, once it is approved of.
    Planned(&'a Plan),
    /// This is about to be undone, once it is approved of.
    RollbackPlanned(&'a RollbackPlan),
    /// A command is about to be tried.
    TrialBegins,
    TrialEnded(&'a Ended),
    /// `up` begins on these nodes.
    UpBegan {
        nodes: &'a [&'a str],
    },
    /// What those nodes call themselves, in the same order.
    HostNames(&'a [&'a str]),
    StageBegan(up::UpStage),
    StageEnded {
        stage: up::UpStage,
        took: Duration,
        /// Its outcome in a few words.
        says: &'a str,
        went_well: bool,
        /// Nodes that it failed on, where it was some in particular.
        failing: &'a [String],
    },
    /// These nodes failed, which ends a stage.
    NodesFailed(&'a NodesFailed),
    /// One of several measurements begins.
    TestBegan {
        name: &'a str,
        /// It has a result or an error by then.
        within: Duration,
    },
    /// One step of a proof begins.
    StepBegan {
        step: &'a Step,
        board: &'a Board,
        /// That are known to come after it.
        steps_left: usize,
    },
    Cabled(&'a Discovered),
    Diagnosed(&'a [up::Seen]),
    Proven(&'a Proof),
    Settings(&'a [up::Environment]),
}

/// Hears of events, from several threads at once.
pub trait Observer: Send + Sync {
    fn observe(&self, event: Event<'_>);
}

/// Nobody looks.
#[derive(Debug)]
pub struct Silent;

impl Observer for Silent {
    fn observe(&self, _: Event<'_>) {}
}

/// Asks whoever sits there. No answer is no. Of passwords, too.
pub trait Prompter: AskPassword {
    /// Whether there is anybody to ask.
    fn is_present(&self) -> bool;

    /// Whether what they were to see before they are asked has reached them, or wherever it was to go.
    fn has_seen(&self) -> bool;

    fn approve(&self, question: &str) -> bool;

    /// The same, with the time shown that is left.
    fn approve_before(&self, question: &str, until: Instant) -> bool;
}

impl AskPassword for Silent {
    fn ask_password(&self, purpose: &Purpose) -> Result<Secret, PasswordError> {
        Err(PasswordError::Nobody(purpose.clone()))
    }
}

impl Prompter for Silent {
    fn is_present(&self) -> bool {
        false
    }

    fn has_seen(&self) -> bool {
        true
    }

    fn approve(&self, _: &str) -> bool {
        false
    }

    fn approve_before(&self, _: &str, _: Instant) -> bool {
        false
    }
}

/// Whether a person wants what is about to be done.
pub struct Consent<'a> {
    /// It was given beforehand.
    pub yes: bool,
    pub prompter: &'a dyn Prompter,
}

#[derive(Debug, thiserror::Error)]
pub enum ConsentError {
    #[error("there is no terminal to ask on: pass --yes to {what} without a question")]
    Unattended { what: &'static str },
    #[error("nothing was changed")]
    Declined,
    #[error("nothing was changed: what would be changed could not be printed")]
    Unseen,
}

impl Consent<'_> {
    /// Whoever cannot be asked has to say so beforehand.
    pub fn is_possible(&self, what: &'static str) -> Result<(), ConsentError> {
        if self.yes || self.prompter.is_present() {
            return Ok(());
        }
        Err(ConsentError::Unattended { what })
    }

    pub fn ask(&self, question: &str) -> Result<(), ConsentError> {
        if !self.prompter.has_seen() {
            return Err(ConsentError::Unseen);
        }
        if self.yes || self.prompter.approve(question) {
            return Ok(());
        }
        Err(ConsentError::Declined)
    }
}

/// One piece of work on a list of nodes. Nodes that were given up may still work: nobody hears of them after the end.
pub struct Round {
    observer: Arc<dyn Observer>,
    ended: AtomicBool,
}

impl Round {
    pub fn begin(observer: &Arc<dyn Observer>, nodes: &[String], prompts: bool) -> Arc<Self> {
        observer.observe(Event::RoundBegan { nodes, prompts });
        Arc::new(Self {
            observer: Arc::clone(observer),
            ended: AtomicBool::new(false),
        })
    }

    pub fn stage(&self, index: usize, stage: Stage) {
        self.tell(Event::Node { index, stage });
    }

    pub fn done(&self, index: usize) {
        self.tell(Event::NodeDone { index });
    }

    fn tell(&self, event: Event<'_>) {
        if !self.ended.load(Ordering::SeqCst) {
            self.observer.observe(event);
        }
    }

    pub fn end(&self) {
        if !self.ended.swap(true, Ordering::SeqCst) {
            self.observer.observe(Event::RoundEnded);
        }
    }
}

impl Drop for Round {
    /// Also where an error ends it.
    fn drop(&mut self) {
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[derive(Default)]
    struct Heard(Mutex<Vec<String>>);

    impl Observer for Heard {
        fn observe(&self, event: Event<'_>) {
            self.0.lock().unwrap().push(format!("{event:?}"));
        }
    }

    #[test]
    fn nobody_hears_of_a_node_after_the_end() {
        let heard = Arc::new(Heard::default());
        let observer = Arc::clone(&heard) as Arc<dyn Observer>;
        let round = Round::begin(&observer, &["spark-a".to_owned()], false);
        round.stage(0, Stage::Connecting);
        round.end();
        round.done(0);
        round.end();
        let heard = heard.0.lock().unwrap();
        assert_eq!(heard.len(), 3, "{heard:?}");
        assert_eq!(heard[1], "Node { index: 0, stage: Connecting }");
        assert_eq!(heard[2], "RoundEnded");
    }
}
