//! A queue pair's GID is empty.

use crosstie_doctor::Hit;
use crosstie_model::Severity;

use crate::{message::QueuePairError, run::Run, state::Kind};

pub(super) fn fire(run: &Run) -> Vec<Hit> {
    let seen = run.seen(|kind| kind == Kind::QueuePair(QueuePairError::NoGid));
    if seen.is_empty() {
        return Vec::new();
    }
    let hit = run.hit(Severity::Fault, &seen);
    vec![hit.command("unset NCCL_IB_GID_INDEX")]
}
