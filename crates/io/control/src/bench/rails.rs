//! Which rails there are, and whether a test on them would do harm.

use crosstie_fabric::{
    carries_management,
    rails::{Rail, RailEnd, rails, users},
};

use super::BenchError;
use crate::NodeFacts;

/// All of them; an error if there is none, or without `force` if one of them is in use.
pub(super) fn usable(
    near: &NodeFacts,
    far: &NodeFacts,
    force: bool,
) -> Result<Vec<Rail>, BenchError> {
    let rails = rails(&near.facts, &far.facts);
    if rails.is_empty() {
        let (near, far) = (near.destination.clone(), far.destination.clone());
        return Err(BenchError::NoRail { near, far });
    }
    if !force {
        for rail in &rails {
            check(near, &rail.near)?;
            check(far, &rail.far)?;
        }
    }
    Ok(rails)
}

/// Whether a test here would do harm.
fn check(node: &NodeFacts, end: &RailEnd) -> Result<(), BenchError> {
    let name = || node.facts.host.name.clone();
    if let Some(interface) = &end.interface
        && carries_management(&node.facts, interface)
    {
        return Err(BenchError::CarriesManagement {
            node: name(),
            interface: interface.clone(),
        });
    }
    let users = users(&node.facts, &end.device);
    if !users.is_empty() {
        return Err(BenchError::InUse {
            node: name(),
            device: end.device.clone(),
            users,
        });
    }
    Ok(())
}
