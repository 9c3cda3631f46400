//! A plugin for the network is in use.

use crosstie_doctor::CheckHit;
use crosstie_model::Severity;

use crate::{
    run::NcclRun,
    state::{NcclLogState, ObservationKind},
};

/// The plugin or foreign network that something speaks of.
pub(crate) fn foreign(state: &NcclLogState, kind: ObservationKind) -> Option<&str> {
    match kind {
        ObservationKind::Plugin(name) => Some(state.names.get(name)),
        ObservationKind::Network(name) => {
            Some(state.names.get(name)).filter(|name| !matches!(*name, "IB" | "Socket"))
        }
        _ => None,
    }
}

pub(super) fn fire(run: &NcclRun) -> Vec<CheckHit> {
    let seen = run.seen(|kind| foreign(run.state, kind).is_some());
    if seen.is_empty() {
        Vec::new()
    } else {
        vec![run.hit(Severity::Info, &seen)]
    }
}
