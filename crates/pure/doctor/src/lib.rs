//! What is wrong with a node or a cluster, with evidence, cause and fix.
//!
//! A check is a pure function from facts to hits, one file each under `checks/`, listed once in its area's table. The
//! table yields the findings, `crosstie explain`, the pages under `docs/checks/` and the test that holds them to the
//! catalogue. A false alarm is as bad as a miss: a gap in the facts is never a fault.

mod causes;
mod check;
mod check_hit;
pub mod checks;
pub mod clock;
mod cluster;
mod diagnose;
pub mod explain;
mod fact_index;
mod finding_site;
mod firewall;
pub mod growth;
mod kernel_parameter;
mod measured;
mod node;
mod subnet_overlaps;
mod terms;

pub(crate) use check::explains;
pub use check::{CauseRule, CauseScope, Check, CheckFunctions, CheckInput};
pub use check_hit::CheckHit;
pub use clock::ClockOffset;
pub use cluster::{CagePair, CagePairEnd, ExaminedCluster, JoinEvidence};
pub use crosstie_model::word;
pub use diagnose::{
    CheckSelection, Diagnosis, DoctorInput, NodeFindings, NodeInput, UnreadNode, diagnose,
};
pub use finding_site::FindingSite;
pub use measured::RunWithFaults;
pub use node::{ExaminedNode, ExaminedPort, is_link_local, is_nvidia_nic, port_file};
