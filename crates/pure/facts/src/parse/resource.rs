//! Live queue pairs, in the shape of `rdma -j resource show qp`.

use crosstie_model::{Reading, facts::rdma::QueuePair};
use serde_json::Value;

use super::{json_array, number, string};
use crate::Raw;

pub(super) fn queue_pairs(raw: &Raw, device: &str) -> Reading<Vec<QueuePair>> {
    json_array(raw, "rdma-resource.json").map(|entries| {
        entries
            .iter()
            .filter(|entry| entry.get("ifname").and_then(Value::as_str) == Some(device))
            .filter_map(queue_pair)
            .collect()
    })
}

fn queue_pair(entry: &Value) -> Option<QueuePair> {
    Some(QueuePair {
        number: number(entry, "lqpn")?,
        port: number(entry, "port"),
        kind: string(entry, "type").unwrap_or_default(),
        state: string(entry, "state").unwrap_or_default(),
        pid: number(entry, "pid"),
        command: string(entry, "comm"),
    })
}
