//! A queue pair's peer could not be reached.

use crosstie_doctor::CheckHit;
use crosstie_model::Severity;

use crate::{message::NcclQueuePairError, run::NcclRun, state::ObservationKind};

pub(super) fn fire(run: &NcclRun) -> Vec<CheckHit> {
    let seen = run.seen(|kind| kind == ObservationKind::QueuePair(NcclQueuePairError::Timeout));
    if seen.is_empty() {
        Vec::new()
    } else {
        vec![run.hit(Severity::Fault, &seen)]
    }
}
