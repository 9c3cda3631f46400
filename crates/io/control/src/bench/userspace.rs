//! Why a node's programs cannot use RDMA, in the doctor's words.

use crosstie_doctor::{Examination, Patient, Selection, diagnose};
use crosstie_report::bench::NodeFinding;

use crate::NodeFacts;

const CHECK: &str = "rdma-userspace-missing";

/// On any of the nodes, whether or not a test has failed for it.
pub(super) fn findings(nodes: &[NodeFacts]) -> Vec<NodeFinding> {
    let patients: Vec<Patient> = nodes
        .iter()
        .map(|node| Patient {
            facts: &node.facts,
            earlier: None,
            clock: None,
        })
        .collect();
    let only = [CHECK.to_owned()];
    let selection = Selection {
        only: &only,
        skip: &[],
    };
    let diagnosis = diagnose(&Examination {
        patients: &patients,
        selection,
        ..Examination::default()
    });
    let of_node = diagnosis.nodes.into_iter().flat_map(|node| {
        let host = node.host;
        node.findings.into_iter().map(move |finding| NodeFinding {
            host: host.clone(),
            finding,
        })
    });
    of_node.collect()
}
