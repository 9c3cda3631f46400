//! Queue pairs use the link-local GID.

use crosstie_doctor::CheckHit;
use crosstie_model::Severity;

use crate::{run::NcclRun, state::ObservationKind};

pub(super) fn fire(run: &NcclRun) -> Vec<CheckHit> {
    let seen = run.seen(|kind| kind == ObservationKind::LinkLocalGid);
    if seen.is_empty() {
        Vec::new()
    } else {
        vec![run.hit(Severity::Warning, &seen)]
    }
}
