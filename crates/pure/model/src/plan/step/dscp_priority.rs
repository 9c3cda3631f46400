use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{StaleStep, StepKind, WantedAndFound};
use crate::{Facts, Reading, plan::ValueChange};

/// The priority that a port gives to packets of one DSCP.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DscpPriority {
    pub interface: String,
    pub dscp: u8,
    /// `None` is the driver's default.
    pub priority: ValueChange<Option<u8>>,
}

impl DscpPriority {
    fn table<'a>(&self, now: &'a Facts) -> Option<&'a BTreeMap<u8, u8>> {
        now.qos(&self.interface)?.dscp_to_priority.known()
    }
}

impl StepKind for DscpPriority {
    fn label(&self) -> String {
        format!(
            "setting the priority of DSCP {} on {}",
            self.dscp, self.interface
        )
    }

    fn words(&self) -> Vec<String> {
        let to = self.priority.to;
        let to = to.map_or("nothing".to_owned(), |to| format!("priority {to}"));
        vec![format!(
            "{}: map DSCP {} to {to}",
            self.interface, self.dscp
        )]
    }

    fn interfaces(&self) -> Vec<&str> {
        vec![&self.interface]
    }

    fn undo(&self) -> Self {
        Self {
            interface: self.interface.clone(),
            dscp: self.dscp,
            priority: self.priority.undo(),
        }
    }

    fn is_done(&self, now: &Facts) -> bool {
        let table = self.table(now);
        table.is_some_and(|table| table.get(&self.dscp).copied() == self.priority.to)
    }

    fn foresee(&self, facts: &mut Facts) -> Result<(), StaleStep> {
        let qos = facts.qos_mut(&self.interface);
        let table = qos.map(|qos| &mut qos.dscp_to_priority);
        let Some(Reading::Value(table)) = table else {
            return Err(StaleStep::of(&self.interface));
        };
        if table.get(&self.dscp).copied() != self.priority.from {
            return Err(StaleStep::of(&self.interface));
        }
        match self.priority.to {
            Some(priority) => table.insert(self.dscp, priority),
            None => table.remove(&self.dscp),
        };
        Ok(())
    }

    fn subject(&self) -> String {
        format!("{} DSCP {}", self.interface, self.dscp)
    }

    fn compare(&self, now: &Facts) -> WantedAndFound {
        let word = |priority: Option<u8>| {
            priority.map_or_else(|| "the default".to_owned(), |one| format!("priority {one}"))
        };
        let found = self.table(now).map(|table| table.get(&self.dscp).copied());
        WantedAndFound::new(self.priority.to, found, word)
    }
}
