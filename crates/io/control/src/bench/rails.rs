//! Which rails there are, and whether a test on them would do harm.

use crosstie_fabric::{
    carries_management,
    ip_rails::{IpRail, below, ip_rails},
    rails::{Rail, RailEnd, rails, users},
};

use super::{BenchError, BenchTransports};
use crate::{NodeFacts, connector::NAMESPACE_PREFIX};

/// What is measured: RDMA's rails, and the interfaces that TCP takes.
#[derive(Debug)]
pub(super) struct UsableRails {
    pub(super) rdma: Vec<Rail>,
    pub(super) tcp: Vec<IpRail>,
}

/// All of them; an error if there is none, or without `force` if one of them is in use.
pub(super) fn usable(
    near: &NodeFacts,
    far: &NodeFacts,
    transports: BenchTransports,
    force: bool,
) -> Result<UsableRails, BenchError> {
    let rdma = rails(&near.facts, &far.facts);
    let mut tcp = below(&rdma);
    if tcp.is_empty() {
        tcp = ip_rails(&near.facts, &far.facts);
        if !force && transports == BenchTransports::Both && !rdma.is_empty() {
            // InfiniBand: nothing says that these interfaces are the fabric's.
            tcp.clear();
        }
    }
    let usable = UsableRails {
        rdma: if transports == BenchTransports::Tcp {
            Vec::new()
        } else {
            rdma
        },
        tcp: if transports == BenchTransports::Rdma {
            Vec::new()
        } else {
            tcp
        },
    };
    let names = || (near.destination.clone(), far.destination.clone());
    if usable.rdma.is_empty() && (transports == BenchTransports::Rdma || usable.tcp.is_empty()) {
        let (near, far) = names();
        return Err(match transports {
            BenchTransports::Tcp => BenchError::NoSubnet { near, far },
            BenchTransports::Rdma | BenchTransports::Both => BenchError::NoRail { near, far },
        });
    }
    if !force {
        for rail in &usable.rdma {
            check(near, &rail.near)?;
            check(far, &rail.far)?;
        }
        for rail in &usable.tcp {
            is_not_management(near, &rail.near.interface)?;
            is_not_management(far, &rail.far.interface)?;
        }
    }
    Ok(usable)
}

fn is_not_management(node: &NodeFacts, interface: &str) -> Result<(), BenchError> {
    // Nobody reaches a namespace of this machine over its interfaces.
    let is_namespace = node.destination.starts_with(NAMESPACE_PREFIX);
    if is_namespace || !carries_management(&node.facts, interface) {
        return Ok(());
    }
    Err(BenchError::CarriesManagement {
        node: node.facts.host.name.clone(),
        interface: interface.to_owned(),
    })
}

/// Whether a test here would do harm.
fn check(node: &NodeFacts, end: &RailEnd) -> Result<(), BenchError> {
    let name = || node.facts.host.name.clone();
    if let Some(interface) = &end.interface {
        is_not_management(node, interface)?;
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
