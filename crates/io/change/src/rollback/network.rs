//! The part of a rollback that is the running network's, and another try of it.

use crosstie_model::change::RollbackReport;

use crosstie_node::network_state::NetworkState;

use crate::{
    error::{RollbackObstacle, told},
    journal::StoredTransaction,
    system_access::SystemAccess,
};

#[derive(Default)]
pub(super) struct NetworkToRestore {
    pub(super) wanted: NetworkState,
    /// What is not to be restored, since it cannot be read.
    pub(super) unread: Vec<RollbackObstacle>,
    /// What another try needs then: the network before the change, and as the change left it.
    pub(super) for_retry: Option<(NetworkState, NetworkState)>,
}

/// Of a trial that was kept, what it did alone: others have changed the network since.
pub(super) fn to_restore(
    system: &dyn SystemAccess,
    transaction: &StoredTransaction,
    outcome: &mut RollbackReport,
) -> NetworkToRestore {
    let before = &transaction.journal.before;
    if transaction.progress.changed_by_trial.is_none() {
        return NetworkToRestore {
            wanted: before.clone(),
            ..NetworkToRestore::default()
        };
    }
    let after = match transaction.network_after() {
        Ok(after) => after,
        Err(error) => {
            let why = told(&error);
            let line = format!("the network stays as it is: what the command did to it: {why}");
            outcome.left.push(line);
            return NetworkToRestore::default();
        }
    };
    let now = system.snapshot_like(before);
    let found = now.without_change(before, &after);
    outcome.left.extend(found.kept);
    let unread = found.unread.into_iter().map(RollbackObstacle::Network);
    let unread: Vec<RollbackObstacle> = unread.collect();
    NetworkToRestore {
        wanted: found.state,
        for_retry: (!unread.is_empty()).then(|| (before.clone(), after)),
        unread,
    }
}

/// What another try needs. Others may have changed the network, too, by then.
pub(super) fn save_for_retry(
    system: &dyn SystemAccess,
    transaction: &StoredTransaction,
    wanted: NetworkState,
    for_retry: Option<(NetworkState, NetworkState)>,
) {
    let (wanted, left) = for_retry.unwrap_or_else(|| {
        let left = system.snapshot_like(&wanted);
        (wanted, left)
    });
    if let Err(error) = transaction.save_unrestored_network(system, &wanted, &left) {
        tracing::warn!("no other try will be made of the network: {error}");
    }
}

/// What is still left of it, for another try. Only what the rollback left and nobody has touched since is tried.
pub(super) fn retry(
    system: &dyn SystemAccess,
    transaction: &StoredTransaction,
    outcome: &mut RollbackReport,
) -> Vec<String> {
    let before = &transaction.progress.unrestored_network;
    if before.is_empty() {
        return Vec::new();
    }
    match transaction.unrestored_network() {
        // It was made anew with a boot.
        Ok((_, left)) if !left.is_of_boot(&system.boot()) => Vec::new(),
        Ok((wanted, left)) => {
            let now = system.snapshot_like(&wanted);
            let found = now.without_change(&wanted, &left);
            outcome.left.extend(found.kept);
            let unread = found.unread.into_iter().map(RollbackObstacle::Network);
            let obstacles = unread.chain(system.restore_runtime(&found.state));
            let (network, gone): (Vec<_>, Vec<_>) =
                obstacles.partition(RollbackObstacle::is_of_network);
            outcome.left.extend(gone.iter().map(|gone| told(gone)));
            network.iter().map(|obstacle| told(obstacle)).collect()
        }
        // It was not known what it left.
        Err(_) => before.clone(),
    }
}
