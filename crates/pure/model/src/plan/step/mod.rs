//! One thing that is done on a node: what it was, what it becomes, and how to see that it is so.
//!
//! Every kind of step is a file here, which holds all that a plan, a screen and a rollback need to know of it, and a file of
//! the same name in `io/change/src/step`, which does it.

mod file_change;
mod interface_change;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::ValueChange;
use crate::{Facts, Reading};

pub use congestion_notification::EcnPoint;
pub use file_change::{FileChange, FileMode, aside};
pub use interface_change::{ConfigReload, InterfaceChange, global_addresses};

/// Calls the macro `$then` with every kind of step: its type, its file and its tag in JSON. The one list of them.
#[macro_export]
macro_rules! with_every_step {
    ($then:ident) => {
        $then! {
            Configure configure "configure",
            Sysctl sysctl "sysctl",
            KernelModule kernel_module "module",
            Packages packages "packages",
            SystemdUnit systemd_unit "unit",
            TimeService time_service "time-service",
            PriorityFlowControl priority_flow_control "pfc",
            PriorityTrust priority_trust "trust",
            DscpPriority dscp_priority "dscp",
            CongestionNotification congestion_notification "ecn",
            TrafficClass traffic_class "traffic-class",
            RoceMode roce_mode "roce-mode",
            InterfaceUp interface_up "link",
        }
    };
}

/// What a kind of step knows of itself.
pub trait StepKind: Clone + Into<PlanStep> {
    /// What is being done, for a message: `setting net.core.rmem_max`.
    fn label(&self) -> String;

    /// For whoever reads a plan: a line for each thing that is done besides writing files.
    fn words(&self) -> Vec<String>;

    /// How a summary of a plan shows it.
    fn shown_as(&self) -> SummaryGroup {
        SummaryGroup::Words
    }

    /// The interfaces that it is about.
    fn interfaces(&self) -> Vec<&str> {
        Vec::new()
    }

    /// Whether traffic on those interfaces stops, for a moment or for good.
    fn disrupts(&self) -> bool {
        false
    }

    /// Whether it is done before the rollback guard is armed: it may take minutes, needs the network that is there now, and
    /// stays.
    fn is_before_guard(&self) -> bool {
        false
    }

    /// The unit that the boot starts from now on.
    fn enabled_unit(&self) -> Option<&str> {
        None
    }

    fn files(&self) -> &[FileChange] {
        &[]
    }

    /// Who reads those files again.
    fn rereads(&self) -> &[ConfigReload] {
        &[]
    }

    #[must_use]
    fn undo(&self) -> Self;

    /// What a rollback does about it, besides restoring files.
    fn rollback(&self) -> RuntimeRollback {
        RuntimeRollback::Undo
    }

    /// Whether the node is as the step would leave it. A gap in the facts is no proof.
    fn is_done(&self, now: &Facts) -> bool;

    /// Makes the facts what they are after the step, files and interfaces of a configuration aside.
    fn foresee(&self, facts: &mut Facts) -> Result<(), StaleStep>;

    /// As steps about one thing each, since each may drift by itself.
    fn parts(&self) -> Vec<PlanStep> {
        vec![self.clone().into()]
    }

    /// The one thing that it is about, as `status` calls it: a path, a sysctl, a port's setting.
    fn subject(&self) -> String;

    /// What the step left, and what is there.
    fn compare(&self, now: &Facts) -> WantedAndFound;
}

/// How a summary of a plan shows a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SummaryGroup {
    /// Files and interfaces are counted.
    Configuration,
    /// Counted among the sysctls.
    Sysctl,
    Words,
}

/// What a rollback does about a step, besides restoring files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuntimeRollback {
    /// Nothing: files are all of it.
    Files,
    /// The step is undone; where that fails, it is in the way of a whole rollback.
    Undo,
    /// The step is undone if that is possible, else this stays, which does no harm.
    UndoIfPossible { stays: String },
    /// Nothing: this stays.
    Stays { what: String },
}

/// For a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedAndFound {
    pub wanted: String,
    pub found: String,
}

/// The node is not as the plan found it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{what} is not what the plan was made for")]
pub struct StaleStep {
    pub what: String,
}

macro_rules! define_steps {
    ($($kind:ident $file:ident $tag:literal,)*) => {
        $(
            mod $file;
            pub use $file::$kind;
        )*

        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "step")]
        pub enum PlanStep {
            $(
                #[serde(rename = $tag)]
                $kind($kind),
            )*
        }

        $(
            impl From<$kind> for PlanStep {
                fn from(step: $kind) -> Self {
                    Self::$kind(step)
                }
            }
        )*

        /// The same of whichever step it is.
        macro_rules! of_each {
            ($step:ident, $inner:ident => $result:expr) => {
                match $step {
                    $(PlanStep::$kind($inner) => $result,)*
                }
            };
        }
    };
}

with_every_step!(define_steps);

/// As in [`StepKind`].
impl PlanStep {
    pub fn label(&self) -> String {
        of_each!(self, step => step.label())
    }

    pub fn words(&self) -> Vec<String> {
        of_each!(self, step => step.words())
    }

    pub fn shown_as(&self) -> SummaryGroup {
        of_each!(self, step => step.shown_as())
    }

    pub fn interfaces(&self) -> Vec<&str> {
        of_each!(self, step => step.interfaces())
    }

    pub fn disrupts(&self) -> bool {
        of_each!(self, step => step.disrupts())
    }

    pub fn is_before_guard(&self) -> bool {
        of_each!(self, step => step.is_before_guard())
    }

    pub fn enabled_unit(&self) -> Option<&str> {
        of_each!(self, step => step.enabled_unit())
    }

    pub fn files(&self) -> &[FileChange] {
        of_each!(self, step => step.files())
    }

    pub fn rereads(&self) -> &[ConfigReload] {
        of_each!(self, step => step.rereads())
    }

    /// The interfaces that are configured anew.
    pub fn interface_changes(&self) -> impl Iterator<Item = &InterfaceChange> {
        self.rereads().iter().filter_map(ConfigReload::interface)
    }

    #[must_use]
    pub fn undo(&self) -> Self {
        of_each!(self, step => step.undo().into())
    }

    pub fn rollback(&self) -> RuntimeRollback {
        of_each!(self, step => step.rollback())
    }

    pub fn is_done(&self, now: &Facts) -> bool {
        of_each!(self, step => step.is_done(now))
    }

    pub fn foresee(&self, facts: &mut Facts) -> Result<(), StaleStep> {
        of_each!(self, step => step.foresee(facts))
    }

    pub fn parts(&self) -> Vec<Self> {
        of_each!(self, step => step.parts())
    }

    pub fn subject(&self) -> String {
        of_each!(self, step => step.subject())
    }

    pub fn compare(&self, now: &Facts) -> WantedAndFound {
        of_each!(self, step => step.compare(now))
    }
}

impl StaleStep {
    pub fn of(what: &str) -> Self {
        let what = what.to_owned();
        Self { what }
    }
}

impl WantedAndFound {
    /// A value that could not be read is told from one that differs.
    fn new<T>(wanted: T, found: Option<T>, word: impl Fn(T) -> String) -> Self {
        Self {
            wanted: word(wanted),
            found: found.map_or_else(|| "cannot be read".to_owned(), word),
        }
    }

    fn toggle(change: &ValueChange<bool>, is_so: bool, yes: &str, no: &str) -> Self {
        let word = |value: bool| if value { yes } else { no }.to_owned();
        Self::new(change.to, Some(is_so), word)
    }
}

fn replace<T: Clone + PartialEq>(
    what: &str,
    value: &mut T,
    change: &ValueChange<T>,
) -> Result<(), StaleStep> {
    if *value != change.from {
        return Err(StaleStep::of(what));
    }
    value.clone_from(&change.to);
    Ok(())
}

/// What was not read cannot have been planned for.
fn replace_reading<T: Clone + PartialEq>(
    what: &str,
    reading: &mut Reading<T>,
    change: &ValueChange<T>,
) -> Result<(), StaleStep> {
    match reading {
        Reading::Value(value) => replace(what, value, change),
        _ => Err(StaleStep::of(what)),
    }
}

/// `1 2 3`, or `none`.
fn list<T: ToString>(items: &[T]) -> String {
    match items {
        [] => "none".to_owned(),
        items => {
            let words: Vec<String> = items.iter().map(ToString::to_string).collect();
            words.join(" ")
        }
    }
}
