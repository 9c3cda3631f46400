//! The rules that a profile must keep beyond its syntax.

use std::collections::BTreeSet;

use super::{ContainerConditions, LabNode, LabProfile};

#[derive(Debug)]
pub(super) struct ProfileProblem {
    pub(super) place: String,
    pub(super) text: String,
}

impl ProfileProblem {
    pub(super) fn new(place: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            place: place.into(),
            text: text.into(),
        }
    }
}

const MAX_NODES: usize = 16;
/// Below this Debian's kernel and systemd do not come up.
const MIN_MEMORY_MIB: u32 = 384;
const MAX_MEMORY_MIB: u32 = 65_536;
const MAX_VCPUS: u8 = 16;
/// Journals, the agent and what a change keeps.
const MIN_DISK_MIB: u32 = 48;
const MAX_MANAGER: usize = 32;
const MAX_BUS: u8 = 8;
/// The management NIC has this last byte.
pub(crate) const MANAGEMENT_OFFSET: u8 = 0x80;
/// `IFNAMSIZ` less the terminating zero.
const MAX_NETDEV: usize = 15;
/// `IB_DEVICE_NAME_MAX` less the terminating zero.
const MAX_RDMA: usize = 63;

pub(super) fn check(profile: &LabProfile) -> Result<(), ProfileProblem> {
    if profile.nodes.is_empty() {
        return Err(ProfileProblem::new(
            "nodes",
            "a lab needs at least one [[node]]",
        ));
    }
    if profile.nodes.len() > MAX_NODES {
        return Err(ProfileProblem::new(
            "nodes",
            format!("{} nodes; at most {MAX_NODES}", profile.nodes.len()),
        ));
    }
    let mut names = BTreeSet::new();
    for node in &profile.nodes {
        let place = format!("node \"{}\"", node.name);
        if !names.insert(&node.name) {
            return Err(ProfileProblem::new(place, "the name is used twice"));
        }
        check_node(node).map_err(|text| ProfileProblem { place, text })?;
    }
    check_segments(profile)?;
    if let Some(fabric) = &profile.infiniband
        && profile.node(&fabric.node).is_none()
    {
        return Err(ProfileProblem::new(
            "infiniband",
            format!("there is no node \"{}\"", fabric.node),
        ));
    }
    Ok(())
}

fn check_node(node: &LabNode) -> Result<(), String> {
    if !is_host_name(&node.name) {
        return Err(
            "a node name is 1 to 32 of a-z, 0-9 and -, and starts with a letter".to_owned(),
        );
    }
    if !(MIN_MEMORY_MIB..=MAX_MEMORY_MIB).contains(&node.memory_mib) {
        return Err(format!(
            "memory_mib is {}; {MIN_MEMORY_MIB} to {MAX_MEMORY_MIB} work",
            node.memory_mib
        ));
    }
    if !(1..=MAX_VCPUS).contains(&node.vcpus) {
        return Err(format!("vcpus is {}; 1 to {MAX_VCPUS} work", node.vcpus));
    }
    check_container(&node.container)?;
    check_cages(node)?;
    check_cards(node)
}

fn check_container(container: &ContainerConditions) -> Result<(), String> {
    // It goes into the environment of the node's first process.
    if let Some(manager) = &container.manager
        && !is_word(manager, MAX_MANAGER)
    {
        return Err(format!(
            "container.manager is \"{manager}\"; letters and digits, such as lxc"
        ));
    }
    match container.disk_mib {
        Some(size) if size < MIN_DISK_MIB => Err(format!(
            "container.disk_mib is {size}; at least {MIN_DISK_MIB} work"
        )),
        _ => Ok(()),
    }
}

fn check_cages(node: &LabNode) -> Result<(), String> {
    let mut netdevs = BTreeSet::from([node.management.as_str()]);
    let mut devices = BTreeSet::new();
    let mut cages = BTreeSet::new();
    if !is_word(&node.management, MAX_NETDEV) {
        return Err(bad_netdev(&node.management));
    }
    for cage in &node.cages {
        if !is_word(&cage.name, MAX_NETDEV) || !cages.insert(cage.name.as_str()) {
            return Err(format!(
                "cage \"{}\": the name is used twice or is not letters and digits",
                cage.name
            ));
        }
        if cage.nics.is_empty() {
            return Err(format!("cage \"{}\" has no NIC", cage.name));
        }
        for nic in &cage.nics {
            if !is_word(&nic.netdev, MAX_NETDEV) {
                return Err(bad_netdev(&nic.netdev));
            }
            if !netdevs.insert(&nic.netdev) {
                return Err(format!("netdev \"{}\" is named twice", nic.netdev));
            }
            let Some(rdma) = &nic.rdma else { continue };
            if !is_word(rdma, MAX_RDMA) || !devices.insert(rdma.as_str()) {
                return Err(format!(
                    "rdma \"{rdma}\": the name is used twice or is not letters, digits and _"
                ));
            }
        }
    }
    Ok(())
}

fn check_cards(node: &LabNode) -> Result<(), String> {
    let mut places = BTreeSet::new();
    let mut offsets = BTreeSet::new();
    for (_, nic) in node.nics() {
        if !(1..=MAX_BUS).contains(&nic.bus) || nic.function > 7 {
            return Err(format!(
                "netdev \"{}\": bus is 1 to {MAX_BUS}, function 0 to 7",
                nic.netdev
            ));
        }
        if !places.insert((nic.bus, nic.function)) {
            return Err(format!(
                "netdev \"{}\": bus {} function {} is taken",
                nic.netdev, nic.bus, nic.function
            ));
        }
        if nic.mac_offset >= MANAGEMENT_OFFSET || !offsets.insert(nic.mac_offset) {
            return Err(format!(
                "netdev \"{}\": mac_offset {} is taken or above {}",
                nic.netdev,
                nic.mac_offset,
                MANAGEMENT_OFFSET - 1
            ));
        }
        if nic.speed_mbps == 0 || i32::try_from(nic.speed_mbps).is_err() {
            return Err(format!(
                "netdev \"{}\": speed_mbps {} is out of range",
                nic.netdev, nic.speed_mbps
            ));
        }
    }
    // The kernel looks for further functions of a slot only when function 0 answers.
    match places.iter().find(|(bus, _)| !places.contains(&(*bus, 0))) {
        Some((bus, _)) => Err(format!("bus {bus} has no NIC at function 0")),
        None => Ok(()),
    }
}

fn check_segments(profile: &LabProfile) -> Result<(), ProfileProblem> {
    let mut names = BTreeSet::new();
    let mut used = BTreeSet::new();
    for segment in &profile.segments {
        let problem = |text: String| ProfileProblem::new(format!("\"{}\"", segment.name), text);
        if !is_host_name(&segment.name) || !names.insert(&segment.name) {
            return Err(problem(
                "the name is used twice or is not a-z, 0-9 and -".to_owned(),
            ));
        }
        if segment.ends.is_empty() {
            return Err(problem("no port is on it".to_owned()));
        }
        for end in &segment.ends {
            let node = profile
                .node(&end.node)
                .ok_or_else(|| problem(format!("there is no node \"{}\"", end.node)))?;
            if !node.cages.iter().any(|cage| cage.name == end.cage) {
                let known: Vec<&str> = node.cages.iter().map(|cage| cage.name.as_str()).collect();
                return Err(problem(format!(
                    "node \"{}\" has no cage \"{}\" (it has: {})",
                    end.node,
                    end.cage,
                    known.join(", ")
                )));
            }
            if !used.insert(end) {
                return Err(problem(format!("{end} already has a cable in it")));
            }
        }
    }
    Ok(())
}

fn is_host_name(name: &str) -> bool {
    (1..=32).contains(&name.len())
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && !name.ends_with('-')
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

fn is_word(name: &str, longest: usize) -> bool {
    (1..=longest).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn bad_netdev(name: &str) -> String {
    format!("netdev \"{name}\" is not 1 to {MAX_NETDEV} letters, digits and _")
}
