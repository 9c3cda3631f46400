//! Queue pairs use the link-local GID.

use crosstie_doctor::Hit;
use crosstie_model::Severity;

use crate::{run::Run, state::Kind};

pub(super) fn fire(run: &Run) -> Vec<Hit> {
    let seen = run.seen(|kind| kind == Kind::LinkLocalGid);
    if seen.is_empty() {
        Vec::new()
    } else {
        vec![run.hit(Severity::Warning, &seen)]
    }
}
