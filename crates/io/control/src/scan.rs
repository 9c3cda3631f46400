//! What nodes are, for `scan`.

use std::{path::Path, sync::Arc};

use crosstie_model::{ClusterSpec, Facts};
use crosstie_node::capture::{self, CaptureWriteError};
use crosstie_report::scan::{ScanResult, node};
use serde_json::Value;

use crate::{FleetSnapshot, NodeReading};

/// One node, and its facts where it could be read.
pub struct NodeScan {
    pub outcome: ScanResult,
    pub facts: Option<Arc<Facts>>,
}

/// Every node, also those that could not be read.
pub fn scan(
    snapshot: &FleetSnapshot,
    spec: Option<ClusterSpec>,
    from_captures: bool,
) -> Vec<NodeScan> {
    let views = snapshot.each(move |facts| node(facts, spec.as_ref()));
    let nodes = snapshot.nodes.iter().zip(views);
    nodes
        .map(|(read, view)| match view {
            Ok(mut node) => {
                if from_captures {
                    node.source = Some(read.name.clone());
                } else if read.name != "." {
                    node.reached = Some(read.name.clone());
                }
                NodeScan {
                    outcome: ScanResult::Node(Box::new(node)),
                    facts: read.facts.clone().ok(),
                }
            }
            Err(error) => NodeScan {
                outcome: ScanResult::Failed {
                    host: read.name.clone(),
                    error: error.line(),
                },
                facts: None,
            },
        })
        .collect()
}

/// For programs; with every fact that was read, if that is asked for.
pub fn values(scanned: &[NodeScan], with_facts: bool) -> serde_json::Result<Vec<Value>> {
    let mut nodes = Vec::new();
    for NodeScan { outcome, facts } in scanned {
        let mut value = serde_json::to_value(outcome)?;
        if let (true, Some(facts), Value::Object(fields)) = (with_facts, facts, &mut value) {
            fields.insert("facts".to_owned(), serde_json::to_value(&**facts)?);
        }
        nodes.push(value);
    }
    Ok(nodes)
}

#[derive(Debug, thiserror::Error)]
pub enum KeepCaptureError {
    #[error("--capture keeps one node, and {read} were read: name one, like `.` for this machine")]
    NotOne { read: usize },
    #[error(transparent)]
    Write(#[from] CaptureWriteError),
}

/// Keeps what was read of one node. A capture made by hand is cut down to the allow-list on its way through.
pub fn keep(readings: &[NodeReading], path: &Path) -> Result<(), KeepCaptureError> {
    let [NodeReading { raw: Ok(raw), .. }] = readings else {
        let read = readings.iter().filter(|node| node.raw.is_ok()).count();
        return Err(KeepCaptureError::NotOne { read });
    };
    Ok(capture::write(
        &crosstie_node::cut_to_allow_list(raw),
        path,
    )?)
}
