use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{StaleStep, StepKind, WantedAndFound, replace};
use crate::{
    Facts, Reading,
    facts::{link::PortQos, net::Interface},
    plan::ValueChange,
};

/// Explicit congestion notification of a port on one priority, at the receiver or at the sender.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CongestionNotification {
    pub interface: String,
    pub point: EcnPoint,
    pub priority: u8,
    pub enabled: ValueChange<bool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EcnPoint {
    /// The receiver, which tells of congestion.
    Notification,
    /// The sender, which slows down.
    Reaction,
}

impl EcnPoint {
    pub fn of(self, interface: &Interface, priority: u8) -> Option<bool> {
        let points = match self {
            Self::Notification => &interface.qos.ecn_notify,
            Self::Reaction => &interface.qos.ecn_react,
        };
        points.known()?.get(&priority).copied()
    }

    fn of_mut(self, qos: &mut PortQos) -> &mut Reading<BTreeMap<u8, bool>> {
        match self {
            Self::Notification => &mut qos.ecn_notify,
            Self::Reaction => &mut qos.ecn_react,
        }
    }
}

impl CongestionNotification {
    fn found(&self, now: &Facts) -> Option<bool> {
        let interface = now.network.interface(&self.interface)?;
        self.point.of(interface, self.priority)
    }
}

impl StepKind for CongestionNotification {
    fn label(&self) -> String {
        format!("setting congestion notification of {}", self.interface)
    }

    fn words(&self) -> Vec<String> {
        let verb = if self.enabled.to {
            "turn on"
        } else {
            "turn off"
        };
        let side = match self.point {
            EcnPoint::Notification => "telling of congestion",
            EcnPoint::Reaction => "heeding congestion",
        };
        vec![format!(
            "{}: {verb} {side} (ECN) on priority {}",
            self.interface, self.priority
        )]
    }

    fn interfaces(&self) -> Vec<&str> {
        vec![&self.interface]
    }

    fn undo(&self) -> Self {
        Self {
            enabled: self.enabled.undo(),
            ..self.clone()
        }
    }

    fn is_done(&self, now: &Facts) -> bool {
        self.found(now) == Some(self.enabled.to)
    }

    fn foresee(&self, facts: &mut Facts) -> Result<(), StaleStep> {
        let qos = facts.qos_mut(&self.interface);
        let Some(Reading::Value(points)) = qos.map(|qos| self.point.of_mut(qos)) else {
            return Err(StaleStep::of(&self.interface));
        };
        let found = points.get_mut(&self.priority);
        let found = found.ok_or_else(|| StaleStep::of(&self.interface))?;
        replace(&self.interface, found, &self.enabled)
    }

    fn subject(&self) -> String {
        let Self {
            interface,
            point,
            priority,
            ..
        } = self;
        format!("{interface} ECN {point:?} {priority}")
    }

    fn compare(&self, now: &Facts) -> WantedAndFound {
        let word = |on: bool| if on { "on" } else { "off" }.to_owned();
        WantedAndFound::new(self.enabled.to, self.found(now), word)
    }
}
