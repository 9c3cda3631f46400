use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{StaleStep, StepKind, WantedAndFound, replace_reading};
use crate::{Facts, plan::ValueChange};

/// The traffic class that queue pairs of a port get which ask for none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrafficClass {
    pub device: String,
    pub port: u32,
    pub class: ValueChange<u8>,
}

impl TrafficClass {
    fn found(&self, now: &Facts) -> Option<u8> {
        let port = now.rdma_port(&self.device, self.port)?;
        port.traffic_class.known().copied()
    }
}

impl StepKind for TrafficClass {
    fn label(&self) -> String {
        format!("setting the traffic class of {}", self.device)
    }

    fn words(&self) -> Vec<String> {
        let Self {
            device,
            port,
            class,
        } = self;
        vec![format!(
            "{device} port {port}: traffic class {} instead of {}",
            class.to, class.from
        )]
    }

    fn undo(&self) -> Self {
        Self {
            class: self.class.undo(),
            ..self.clone()
        }
    }

    fn is_done(&self, now: &Facts) -> bool {
        self.found(now) == Some(self.class.to)
    }

    fn foresee(&self, facts: &mut Facts) -> Result<(), StaleStep> {
        let port = facts.rdma_port_mut(&self.device, self.port);
        let port = port.ok_or_else(|| StaleStep::of(&self.device))?;
        replace_reading(&self.device, &mut port.traffic_class, &self.class)
    }

    fn subject(&self) -> String {
        format!("{}/{} traffic class", self.device, self.port)
    }

    fn compare(&self, now: &Facts) -> WantedAndFound {
        WantedAndFound::new(self.class.to, self.found(now), |class| class.to_string())
    }
}
