//! The nodes that are changed, and who can tell whether they are still reached.

use std::sync::Arc;

use clap::ColorChoice;
use crosstie_model::{Facts, Spec};
use crosstie_plan::proof;
use crosstie_reach::ssh::Destination;

use super::{probes::greetings, transaction::Subject, witness::SeenBy};
use crate::{
    args::{Reach, Root},
    look::Looked,
    nodes::{Door, Fleet},
    targets::destinations,
};

/// Whoever greets at this port is an ssh server, unless the cluster file names another.
const SSH: u16 = 22;

pub(super) struct Subjects<'a> {
    spec: Option<&'a Spec>,
    looked: &'a [Looked],
    /// In the same order.
    doors: Vec<Arc<dyn Door>>,
    /// Other nodes of the cluster, for when this machine is changed alone.
    others: Option<Fleet>,
}

impl<'a> Subjects<'a> {
    pub(super) fn new(
        spec: impl Into<Option<&'a Spec>>,
        fleet: &Fleet,
        looked: &'a [Looked],
        root: &Root,
        colour: ColorChoice,
    ) -> Self {
        let spec = spec.into();
        let alone = looked.len() == 1 && is_here(&looked[0]);
        let others = spec.filter(|_| alone);
        Self {
            spec,
            looked,
            doors: fleet.doors(),
            others: others.and_then(|spec| others_of(spec, fleet, root, colour)),
        }
    }

    /// `place` is that of the node among those that were looked at.
    pub(super) fn subject(&self, place: usize) -> Subject {
        let node = &self.looked[place];
        let seen_by = is_here(node).then(|| SeenBy {
            peers: self.peers(place),
            greetings: greetings(&node.facts, self.port(&node.facts)),
        });
        Subject {
            node: node.facts.host.name.clone(),
            door: Arc::clone(&self.doors[place]),
            probes: proof::management(&node.facts),
            seen_by,
        }
    }

    fn peers(&self, place: usize) -> Vec<Arc<dyn Door>> {
        let doors = self.doors.iter().enumerate();
        let doors = doors.filter(|(index, _)| *index != place);
        let mut peers: Vec<_> = doors.map(|(_, door)| Arc::clone(door)).collect();
        peers.extend(self.others.iter().flat_map(Fleet::doors));
        peers
    }

    fn port(&self, facts: &Facts) -> u16 {
        let node = self.spec.and_then(|spec| spec.node(&facts.host.name));
        let ssh: Option<Destination> = node.and_then(|node| node.ssh.as_ref()?.parse().ok());
        ssh.and_then(|ssh| ssh.written().1).unwrap_or(SSH)
    }
}

/// Whether it is the machine that we run on, whatever it was called.
fn is_here(node: &Looked) -> bool {
    let own = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
    let own = own.as_deref().map(str::trim);
    let boot = node.facts.host.boot_id.known().map(String::as_str);
    node.destination == "." || (boot.is_some() && boot == own)
}

/// Nothing that is asked of them takes root.
fn others_of(spec: &Spec, fleet: &Fleet, root: &Root, colour: ColorChoice) -> Option<Fleet> {
    let reach = Reach {
        sudo: false,
        become_password_fd: None,
        ask_become_pass: false,
        ..root.reach()
    };
    let mut names = destinations(spec);
    names.retain(|name| name != "." && !fleet.doors().iter().any(|door| door.name() == name));
    if names.is_empty() {
        return None;
    }
    Fleet::new(names, &reach, colour).ok()
}
