//! A plugin for the network is in use.

use crosstie_doctor::Hit;
use crosstie_model::Severity;

use crate::{
    run::Run,
    state::{Kind, State},
};

/// The plugin or foreign network that something speaks of.
pub(crate) fn foreign(state: &State, kind: Kind) -> Option<&str> {
    match kind {
        Kind::Plugin(name) => Some(state.names.get(name)),
        Kind::Network(name) => {
            Some(state.names.get(name)).filter(|name| !matches!(*name, "IB" | "Socket"))
        }
        _ => None,
    }
}

pub(super) fn fire(run: &Run) -> Vec<Hit> {
    let seen = run.seen(|kind| foreign(run.state, kind).is_some());
    if seen.is_empty() {
        Vec::new()
    } else {
        vec![run.hit(Severity::Info, &seen)]
    }
}
