//! The nodes that are changed, and who can tell whether they are still reached: whoever changes the machine that they sit
//! at asks another node.

use std::{net::SocketAddr, sync::Arc};

use crosstie_fabric::management;
use crosstie_model::{ClusterSpec, Facts, change::ReachabilityProbe, plan::global_addresses};
use crosstie_plan::management_probes;
use crosstie_reach::{NodeStage, Session, ssh::SshDestination};
use crosstie_report::suggested_command::CommandContext;

use super::{
    node_calls::{ApplyTimeouts, probe_again},
    transaction::ChangeTarget,
};
use crate::{Connector, Fleet, FleetOptions, NodeFacts, destinations};

/// Whoever greets at this port is an ssh server, unless the cluster file names another.
const SSH_PORT: u16 = 22;

pub(super) struct ChangeTargets<'a> {
    spec: Option<&'a ClusterSpec>,
    nodes: &'a [NodeFacts],
    /// In the same order.
    connectors: Vec<Arc<dyn Connector>>,
    /// Other nodes of the cluster, for when this machine is changed alone.
    others: Option<Fleet>,
    offer: CommandContext,
}

impl<'a> ChangeTargets<'a> {
    pub(super) fn new(
        spec: Option<&'a ClusterSpec>,
        fleet: &Fleet,
        nodes: &'a [NodeFacts],
    ) -> Self {
        let alone = nodes.len() == 1 && is_this_machine(&nodes[0]);
        let others = spec.filter(|_| alone);
        Self {
            spec,
            nodes,
            connectors: fleet.connectors(),
            others: others.and_then(|spec| other_nodes(spec, fleet)),
            offer: fleet.options().offer.clone(),
        }
    }

    /// The node at this place of the snapshot.
    pub(super) fn subject(&self, index: usize) -> ChangeTarget {
        let node = &self.nodes[index];
        let seen_by = is_this_machine(node).then(|| PeerProbes {
            peers: self.peers(index),
            greetings: ssh_probes(&node.facts, self.port(&node.facts)),
        });
        ChangeTarget {
            node: node.facts.host.name.clone(),
            connector: Arc::clone(&self.connectors[index]),
            probes: management_probes(&node.facts),
            seen_by,
            offer: self.offer.clone(),
        }
    }

    fn peers(&self, index: usize) -> Vec<Arc<dyn Connector>> {
        let connectors = self.connectors.iter().enumerate();
        let others = connectors.filter(|(other, _)| *other != index);
        let mut peers: Vec<_> = others.map(|(_, other)| Arc::clone(other)).collect();
        peers.extend(self.others.iter().flat_map(Fleet::connectors));
        peers
    }

    fn port(&self, facts: &Facts) -> u16 {
        let node = self.spec.and_then(|spec| spec.node(&facts.host.name));
        let ssh: Option<SshDestination> = node.and_then(|node| node.ssh.as_ref()?.parse().ok());
        ssh.and_then(|ssh| ssh.written().1).unwrap_or(SSH_PORT)
    }
}

/// Whether it is the machine that we run on, whatever it was called.
fn is_this_machine(node: &NodeFacts) -> bool {
    let own = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
    let own = own.as_deref().map(str::trim);
    let boot = node.facts.host.boot_id.known().map(String::as_str);
    node.destination == "." || (boot.is_some() && boot == own)
}

/// Nothing that is asked of them takes root.
fn other_nodes(spec: &ClusterSpec, fleet: &Fleet) -> Option<Fleet> {
    let options = FleetOptions {
        root: None,
        password_first: false,
        ..fleet.options().clone()
    };
    let mut names = destinations(spec);
    names.retain(|name| name != "." && !fleet.names().contains(&name.as_str()));
    if names.is_empty() {
        return None;
    }
    Fleet::new(names, &options).ok()
}

/// What others reach of a node as long as its management works: its ssh server.
fn ssh_probes(facts: &Facts, port: u16) -> Vec<ReachabilityProbe> {
    let interfaces = management(facts);
    let interfaces = interfaces
        .iter()
        .filter_map(|name| facts.network.interface(name));
    let addresses = interfaces.flat_map(global_addresses);
    let addresses = addresses.map(|network| SocketAddr::new(network.addr(), port));
    addresses
        .map(|address| ReachabilityProbe::Greeting { address })
        .collect()
}

/// Who may be asked, and for what.
pub(super) struct PeerProbes {
    pub(super) peers: Vec<Arc<dyn Connector>>,
    /// Addresses of this machine that somebody answers at.
    pub(super) greetings: Vec<ReachabilityProbe>,
}

/// A node that saw this machine before the change.
pub(super) struct WitnessPeer {
    connector: Arc<dyn Connector>,
    session: Box<dyn Session>,
    seen: Vec<ReachabilityProbe>,
}

impl PeerProbes {
    /// The first who sees any of it.
    pub(super) fn find(
        &self,
        limits: &ApplyTimeouts,
        progress: &dyn Fn(NodeStage),
    ) -> Option<WitnessPeer> {
        if self.greetings.is_empty() {
            return None;
        }
        self.peers.iter().find_map(|connector| {
            let session = connector.session(progress).ok()?;
            let (seen, _) =
                probe_again(session.as_ref(), &self.greetings, limits, progress).ok()?;
            let witness = WitnessPeer {
                connector: Arc::clone(connector),
                session,
                seen,
            };
            if witness.seen.is_empty() {
                witness.release_session();
                return None;
            }
            Some(witness)
        })
    }
}

impl WitnessPeer {
    pub(super) fn check(
        &mut self,
        limits: &ApplyTimeouts,
        progress: &dyn Fn(NodeStage),
    ) -> Result<(), String> {
        let name = self.connector.name();
        match probe_again(self.session.as_ref(), &self.seen, limits, progress) {
            Ok((_, failed)) if failed.is_empty() => Ok(()),
            Ok((_, failed)) => Err(format!(
                "{name} reached this before and does not any more: {}",
                failed.join(", ")
            )),
            Err(error) => Err(format!(
                "{name}, which should see it, cannot be asked: {error}"
            )),
        }
    }

    /// It may be asked other things.
    pub(super) fn release_session(self) {
        self.connector.keep(self.session);
    }
}
