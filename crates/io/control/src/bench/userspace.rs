//! Why a node's programs cannot use RDMA, in the doctor's words.

use crosstie_doctor::{CheckSelection, DoctorInput, NodeInput, diagnose};
use crosstie_report::bench::BenchFinding;

use crate::NodeFacts;

const CHECK: &str = "rdma-userspace-missing";

/// On any of the nodes, whether or not a test has failed for it.
pub(super) fn findings(nodes: &[NodeFacts]) -> Vec<BenchFinding> {
    let patients: Vec<NodeInput> = nodes
        .iter()
        .map(|node| NodeInput {
            facts: &node.facts,
            earlier: None,
            clock: None,
        })
        .collect();
    let only = [CHECK.to_owned()];
    let selection = CheckSelection {
        only: &only,
        skip: &[],
    };
    let diagnosis = diagnose(&DoctorInput {
        patients: &patients,
        selection,
        ..DoctorInput::default()
    });
    let of_node = diagnosis.nodes.into_iter().flat_map(|node| {
        let host = node.host;
        node.findings.into_iter().map(move |finding| BenchFinding {
            host: host.clone(),
            finding,
        })
    });
    of_node.collect()
}
