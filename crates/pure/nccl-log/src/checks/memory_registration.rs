//! Memory could not be locked for the card.

use crosstie_doctor::CheckHit;
use crosstie_model::Severity;

use crate::{run::NcclRun, state::ObservationKind};

pub(super) fn fire(run: &NcclRun) -> Vec<CheckHit> {
    let seen = run.seen(|kind| kind == ObservationKind::Registration);
    if seen.is_empty() {
        return Vec::new();
    }
    let hit = run.hit(Severity::Fault, &seen);
    vec![
        hit.command("grep 'locked memory' /proc/self/limits")
            .command("grep Cma /proc/meminfo"),
    ]
}
