//! A queue pair's peer could not be reached.

use crosstie_doctor::Hit;
use crosstie_model::Severity;

use crate::{message::QueuePairError, run::Run, state::Kind};

pub(super) fn fire(run: &Run) -> Vec<Hit> {
    let seen = run.seen(|kind| kind == Kind::QueuePair(QueuePairError::Timeout));
    if seen.is_empty() {
        Vec::new()
    } else {
        vec![run.hit(Severity::Fault, &seen)]
    }
}
