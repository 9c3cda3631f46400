use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{StaleStep, StepKind, WantedAndFound, replace_reading};
use crate::{Facts, plan::ValueChange};

/// RDMA-CM's default for a port: `IB/RoCE v1` or `RoCE v2`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RoceMode {
    pub device: String,
    pub port: u32,
    pub mode: ValueChange<String>,
}

impl RoceMode {
    fn found<'a>(&self, now: &'a Facts) -> Option<&'a String> {
        let port = now.rdma_port(&self.device, self.port)?;
        port.cm_roce_mode.known()
    }
}

impl StepKind for RoceMode {
    fn label(&self) -> String {
        format!("setting the RoCE mode of {}", self.device)
    }

    fn words(&self) -> Vec<String> {
        let Self { device, port, mode } = self;
        vec![format!(
            "{device} port {port}: {} for RDMA-CM instead of {}",
            mode.to, mode.from
        )]
    }

    fn undo(&self) -> Self {
        Self {
            mode: self.mode.undo(),
            ..self.clone()
        }
    }

    fn is_done(&self, now: &Facts) -> bool {
        self.found(now) == Some(&self.mode.to)
    }

    fn foresee(&self, facts: &mut Facts) -> Result<(), StaleStep> {
        let port = facts.rdma_port_mut(&self.device, self.port);
        let port = port.ok_or_else(|| StaleStep::of(&self.device))?;
        replace_reading(&self.device, &mut port.cm_roce_mode, &self.mode)
    }

    fn subject(&self) -> String {
        format!("{}/{} RoCE mode", self.device, self.port)
    }

    fn compare(&self, now: &Facts) -> WantedAndFound {
        WantedAndFound::new(&self.mode.to, self.found(now), String::clone)
    }
}
