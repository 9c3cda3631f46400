//! What is wrong with a node or a cluster, with evidence, cause and fix.
//!
//! A check is a pure function from facts to hits, one file each under `checks/`, listed once in its area's table. The
//! table yields the findings, `crosstie explain`, the pages under `docs/checks/` and the test that holds them to the
//! catalogue. A false alarm is as bad as a miss: a gap in the facts is never a fault.

mod causes;
mod check;
pub mod checks;
pub mod clock;
mod cluster;
mod diagnose;
pub mod explain;
mod firewall;
pub mod growth;
mod hit;
mod index;
mod kernel_parameter;
mod measured;
mod node;
mod overlaps;
mod site;
mod terms;

pub(crate) use check::explains;
pub use check::{CauseRule, CauseScope, Check, CheckFunctions, CheckInput};
pub use clock::ClockOffset;
pub use cluster::{CagePair, CagePairEnd, ExaminedCluster, JoinEvidence};
pub use crosstie_model::word;
pub use diagnose::{
    CheckSelection, Diagnosis, DoctorInput, NodeFindings, NodeInput, UnreadNode, diagnose,
};
pub use hit::CheckHit;
pub use measured::RunWithFaults;
pub use node::{ExaminedNode, ExaminedPort, is_link_local, is_nvidia_nic, port_file};
pub use site::FindingSite;
