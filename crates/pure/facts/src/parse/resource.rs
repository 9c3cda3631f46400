//! Live queue pairs, in the shape of `rdma -j resource show qp`.

use std::collections::HashMap;

use crosstie_model::{Reading, facts::rdma::QueuePairFacts};
use serde_json::Value;

use super::{json_array, number, string};
use crate::RawCapture;

/// By device.
pub(super) fn queue_pairs(raw: &RawCapture) -> Reading<HashMap<String, Vec<QueuePairFacts>>> {
    json_array(raw, "rdma-resource.json").map(|entries| {
        let mut pairs: HashMap<String, Vec<QueuePairFacts>> = HashMap::new();
        for entry in &entries {
            if let (Some(device), Some(pair)) = (string(entry, "ifname"), queue_pair(entry)) {
                pairs.entry(device).or_default().push(pair);
            }
        }
        pairs
    })
}

fn queue_pair(entry: &Value) -> Option<QueuePairFacts> {
    Some(QueuePairFacts {
        number: number(entry, "lqpn")?,
        port: number(entry, "port"),
        kind: string(entry, "type").unwrap_or_default(),
        state: string(entry, "state").unwrap_or_default(),
        pid: number(entry, "pid"),
        command: string(entry, "comm"),
    })
}
