//! What a person may be told while nodes are worked on.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use crosstie_grade::{
    proof::{TestBatch, TestEndTable},
    reach::ReachabilityProof,
};
use crosstie_model::{ClusterPlan, change::TryCommandResult};
use crosstie_reach::NodeStage;
use crosstie_report::{prove::ProveReport, rollback::RollbackPlan, up};

use crate::{NodesFailed, init::CablingDiscovery};

/// What happens, as it happens.
#[derive(Debug)]
pub enum ControlEvent<'a> {
    /// Work on these nodes begins. Until [`ControlEvent::RoundEnded`], events name them by their place in this list.
    RoundBegan {
        nodes: &'a [String],
        /// ssh may ask on the terminal while it connects.
        prompts: bool,
    },
    Node {
        index: usize,
        stage: NodeStage,
    },
    NodeDone {
        index: usize,
    },
    RoundEnded,
    /// From now on this is what whoever interrupts the command has to know; empty where there is nothing.
    InterruptMessage(&'a str),
    /// The cluster file that counts; absent for a lab's own.
    ClusterFile {
        file: Option<&'a Path>,
    },
    /// This is about to be carried out, once it is approved of.
    Planned(&'a ClusterPlan),
    /// This is about to be rolled back, once it is approved of.
    RollbackPlanned(&'a RollbackPlan),
    /// A command is about to be tried.
    TrialBegins,
    TrialEnded(&'a TryCommandResult),
    /// `up` begins on these nodes.
    UpBegan {
        nodes: &'a [&'a str],
    },
    /// It is over.
    UpEnded {
        went_well: bool,
    },
    /// What those nodes call themselves, in the same order.
    HostNames(&'a [&'a str]),
    StageBegan(up::UpStage),
    StageEnded {
        stage: up::UpStage,
        took: Duration,
        /// Its outcome in a few words.
        summary: &'a str,
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
        step: &'a TestBatch,
        board: &'a TestEndTable,
        /// That are known to come after it.
        steps_left: usize,
    },
    Cabled(&'a CablingDiscovery),
    Diagnosed {
        seen: &'a [up::UpFinding],
        /// The command that shows all of it.
        doctor: &'a str,
    },
    /// What a person should know besides what they asked for.
    Notice(&'a str),
    Proven(&'a ReachabilityProof),
    Measured(&'a ProveReport),
    Settings(&'a [up::NodeEngineSettings]),
}

/// Hears of events, from several threads at once.
pub trait EventObserver: Send + Sync {
    fn observe(&self, event: ControlEvent<'_>);
}

/// Nobody looks.
#[derive(Debug)]
pub struct NoObserver;

impl EventObserver for NoObserver {
    fn observe(&self, _: ControlEvent<'_>) {}
}

/// One piece of work on a list of nodes. Nodes that were given up may still work: nobody hears of them after the end.
pub struct FleetRound {
    observer: Arc<dyn EventObserver>,
    ended: AtomicBool,
}

impl FleetRound {
    pub fn begin(observer: &Arc<dyn EventObserver>, nodes: &[String], prompts: bool) -> Arc<Self> {
        observer.observe(ControlEvent::RoundBegan { nodes, prompts });
        Arc::new(Self {
            observer: Arc::clone(observer),
            ended: AtomicBool::new(false),
        })
    }

    pub fn stage(&self, index: usize, stage: NodeStage) {
        self.tell(ControlEvent::Node { index, stage });
    }

    pub fn done(&self, index: usize) {
        self.tell(ControlEvent::NodeDone { index });
    }

    fn tell(&self, event: ControlEvent<'_>) {
        if !self.ended.load(Ordering::SeqCst) {
            self.observer.observe(event);
        }
    }

    pub fn end(&self) {
        if !self.ended.swap(true, Ordering::SeqCst) {
            self.observer.observe(ControlEvent::RoundEnded);
        }
    }
}

impl Drop for FleetRound {
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

    impl EventObserver for Heard {
        fn observe(&self, event: ControlEvent<'_>) {
            self.0.lock().unwrap().push(format!("{event:?}"));
        }
    }

    #[test]
    fn nobody_hears_of_a_node_after_the_end() {
        let heard = Arc::new(Heard::default());
        let observer = Arc::clone(&heard) as Arc<dyn EventObserver>;
        let round = FleetRound::begin(&observer, &["spark-a".to_owned()], false);
        round.stage(0, NodeStage::Connecting);
        round.end();
        round.done(0);
        round.end();
        let heard = heard.0.lock().unwrap();
        assert_eq!(heard.len(), 3, "{heard:?}");
        assert_eq!(heard[1], "Node { index: 0, stage: Connecting }");
        assert_eq!(heard[2], "RoundEnded");
    }
}
