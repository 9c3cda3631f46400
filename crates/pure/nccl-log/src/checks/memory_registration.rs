//! Memory could not be locked for the card.

use crosstie_doctor::Hit;
use crosstie_model::Severity;

use crate::{run::Run, state::Kind};

pub(super) fn fire(run: &Run) -> Vec<Hit> {
    let seen = run.seen(|kind| kind == Kind::Registration);
    if seen.is_empty() {
        return Vec::new();
    }
    let hit = run.hit(Severity::Fault, &seen);
    vec![
        hit.command("grep 'locked memory' /proc/self/limits")
            .command("grep Cma /proc/meminfo"),
    ]
}
