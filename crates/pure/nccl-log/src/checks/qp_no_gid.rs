//! A queue pair's GID is empty.

use crosstie_doctor::CheckHit;
use crosstie_model::Severity;

use crate::{message::NcclQueuePairError, run::NcclRun, state::ObservationKind};

pub(super) fn fire(run: &NcclRun) -> Vec<CheckHit> {
    let seen = run.seen(|kind| kind == ObservationKind::QueuePair(NcclQueuePairError::NoGid));
    if seen.is_empty() {
        return Vec::new();
    }
    let hit = run.hit(Severity::Fault, &seen);
    vec![hit.command("unset NCCL_IB_GID_INDEX")]
}
