//! What two ends of a link negotiated, and how it treats classes of traffic.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{NamedCounters, TextReading};
use crate::Reading;

/// From ethtool: absent on virtual devices and where the driver keeps it to itself.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LinkSettings {
    pub autoneg: Reading<bool>,
    pub fec_active: TextReading,
    /// Global (802.3x) pause: obeyed when received.
    pub pause_receive: Reading<bool>,
    /// Global (802.3x) pause: sent when the port is full.
    pub pause_send: Reading<bool>,
    /// Allow-listed driver statistics (`ethtool -S`): pause, discard, phy and symbol counters.
    pub driver_counters: Reading<NamedCounters>,
}

impl LinkSettings {
    /// Whether global pause is on in either direction.
    pub fn has_global_pause(&self) -> Option<bool> {
        let sides = [self.pause_receive.known(), self.pause_send.known()];
        match sides {
            [None, None] => None,
            sides => Some(sides.contains(&Some(&true))),
        }
    }
}

/// RoCE quality of service of one port: whatever exists of it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PortQos {
    /// Priorities with priority flow control on.
    pub pfc: Reading<Vec<u8>>,
    /// `pcp` or `dscp`.
    pub trust: TextReading,
    /// DSCP → priority, where it is mapped.
    pub dscp_to_priority: Reading<BTreeMap<u8, u8>>,
    /// Priority → ECN notification point enabled.
    pub ecn_notify: Reading<BTreeMap<u8, bool>>,
    /// Priority → ECN reaction point enabled.
    pub ecn_react: Reading<BTreeMap<u8, bool>>,
}
