//! What a person may be told while nodes are worked on, and what they may be asked.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use crosstie_model::{Plan, change::Ended};
use crosstie_plan::proof::Proof;
use crosstie_reach::Stage;
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
    StageBegan(up::Stage),
    StageEnded {
        stage: up::Stage,
        took: Duration,
        /// Its outcome in a few words.
        says: &'a str,
        went_well: bool,
        /// Nodes that it failed on, where it was some in particular.
        failing: &'a [String],
    },
    /// These nodes failed, which ends a stage.
    NodesFailed(&'a NodesFailed),
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

/// Asks whoever sits there. No answer is no.
pub trait Prompter: Send + Sync {
    /// Whether there is anybody to ask.
    fn is_present(&self) -> bool;

    fn approve(&self, question: &str) -> bool;

    /// The same, with the time shown that is left.
    fn approve_before(&self, question: &str, until: Instant) -> bool;
}

impl Prompter for Silent {
    fn is_present(&self) -> bool {
        false
    }

    fn approve(&self, _: &str) -> bool {
        false
    }

    fn approve_before(&self, _: &str, _: Instant) -> bool {
        false
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
