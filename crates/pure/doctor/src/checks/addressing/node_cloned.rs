//! Two nodes share an identity.

use std::collections::BTreeMap;

use crate::{Check, CheckFunctions, CheckHit, ExaminedCluster, ExaminedNode, terms::listed};

pub(super) const CHECK: Check = Check {
    id: "node-cloned",
    title: "Two nodes share a machine id, a host name or a node GUID",
    severity: "fault",
    fires: "Two nodes report the same machine-id, the same host name, or RDMA devices with the same node GUID. Empty and \
        zero ids do not count.",
    reads: &[
        "/etc/machine-id",
        "/proc/sys/kernel/hostname",
        "/sys/class/infiniband/DEV/node_guid",
    ],
    cause: "one node was installed from an image of the other, or the same machine was named twice",
    meaning: "DHCP servers, systemd and network managers derive addresses from the machine-id: clones are given the same \
        ones. Schedulers, Ray and MPI tell nodes apart by host name and take clones for one machine. RDMA connection \
        managers tell ports apart by GUID.",
    fix: "Give each node an id and a name of its own, and reboot it. A GUID that two cards share is set with the card \
        vendor's firmware tool.",
    verify: "`cat /etc/machine-id`, `hostname` and `ibv_devinfo` differ on all nodes.",
    explained_by: &[],
    run: CheckFunctions::cluster(run),
};

/// What it is, and its value.
type Identity = (&'static str, String);

/// Where an identity was read, and the nodes that have it.
type Owners = (String, Vec<usize>);

fn run(cluster: &ExaminedCluster) -> Vec<CheckHit> {
    let mut owners: BTreeMap<Identity, Owners> = BTreeMap::new();
    let nodes = cluster.nodes.iter().enumerate();
    for (index, node) in nodes.filter(|(_, node)| node.concerns_us()) {
        for (what, value, source) in identities(node) {
            let entry = owners.entry((what, value));
            let (_, list) = entry.or_insert((source, Vec::new()));
            // Ports of one card may share a GUID.
            if list.last() != Some(&index) {
                list.push(index);
            }
        }
    }
    let mut clones: BTreeMap<Vec<usize>, Vec<(Identity, String)>> = BTreeMap::new();
    for (identity, (source, nodes)) in owners {
        if nodes.len() > 1 {
            clones.entry(nodes).or_default().push((identity, source));
        }
    }
    clones
        .into_iter()
        .map(|(nodes, shared)| {
            let mut names: Vec<&str> = nodes.iter().map(|node| cluster.nodes[*node].name).collect();
            names.dedup();
            let hit = CheckHit::fault(listed(&names));
            shared
                .into_iter()
                .fold(hit, |hit, ((what, value), source)| {
                    let hit = hit.saw(format!("same {what}"), value, source);
                    match what {
                        MACHINE_ID => hit.command(NEW_MACHINE_ID),
                        HOST_NAME => hit.command("sudo hostnamectl set-hostname NEW-NAME"),
                        _ => hit,
                    }
                })
        })
        .collect()
}

const MACHINE_ID: &str = "machine-id";
const HOST_NAME: &str = "host name";
const NEW_MACHINE_ID: &str =
    "sudo rm -f /etc/machine-id /var/lib/dbus/machine-id && sudo systemd-machine-id-setup";

/// What it is, its value, and where it was read.
fn identities(node: &ExaminedNode) -> Vec<(&'static str, String, String)> {
    let machine_id = node.facts.host.machine_id.known();
    let machine_id = machine_id.filter(|id| {
        // Collection hashes the id, so that a capture does not give it away.
        let id = id.strip_prefix("hashed-").unwrap_or(id);
        id.chars().all(|digit| digit.is_ascii_hexdigit()) && id.chars().any(|digit| digit != '0')
    });
    let machine_id = machine_id.map(|id| (MACHINE_ID, id.clone(), "/etc/machine-id".to_owned()));
    let name = Some(node.name).filter(|name| !name.is_empty());
    let name = name.map(|name| {
        let source = "/proc/sys/kernel/hostname".to_owned();
        (HOST_NAME, name.to_owned(), source)
    });
    let devices = node.facts.rdma.iter().filter_map(|device| {
        let guid = device.node_guid.known().filter(|guid| guid.0 != 0)?;
        let source = format!("/sys/class/infiniband/{}/node_guid", device.name);
        Some(("node GUID", guid.to_string(), source))
    });
    machine_id.into_iter().chain(name).chain(devices).collect()
}
