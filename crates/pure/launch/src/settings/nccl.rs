//! NCCL's own choices: devices, subnets, GIDs, and which of its versions need to be told.

use std::net::IpAddr;

use crosstie_model::{Facts, facts::rdma::GidKind, plan::EngineKind};

use super::{Settings, SettingsNode, SettingsPort};

/// From this version on NCCL chooses the GID by itself.
const CHOOSES_GID: (u32, u32, u32) = (2, 21, 0);
/// The first that pairs devices by their subnets.
const SUBNET_AWARE: (u32, u32, u32) = (2, 30, 7);

pub(super) fn add(all: &mut Settings, node: &SettingsNode) {
    devices(all, &node.ports);
    topology(all, node);
    subnet_prefix(all, node);
    gid_index(all, node.facts, &node.ports);
    let is_ipv6 =
        |port: &SettingsPort| matches!(port.address.map(|net| net.addr()), Some(IpAddr::V6(_)));
    if node.ports.iter().any(is_ipv6) {
        let why = "the fabric has IPv6 addresses alone";
        all.add(EngineKind::Nccl, "NCCL_IB_ADDR_FAMILY", "AF_INET6", why);
    }
    if let Some(class) = &node.traffic_class {
        let value = class.value.to_string();
        let why = format!(
            "DSCP {}, which the switch maps to its lossless priority {}",
            class.dscp, class.priority
        );
        all.add(EngineKind::Nccl, "NCCL_IB_TC", &value, &why);
        all.add(EngineKind::Ucx, "UCX_IB_TRAFFIC_CLASS", &value, &why);
    }
}

fn devices(all: &mut Settings, ports: &[SettingsPort]) {
    let listed = |always: bool| {
        let names = ports.iter().map(|port| {
            if always || port.number != 1 {
                format!("{}:{}", port.device, port.number)
            } else {
                port.device.clone()
            }
        });
        names.collect::<Vec<_>>().join(",")
    };
    // Without `=` the names are prefixes: mlx5_1 would match mlx5_10.
    all.add(
        EngineKind::Nccl,
        "NCCL_IB_HCA",
        &format!("={}", listed(false)),
        "exactly the cabled ports of this node, both twins of each cage",
    );
    let why = "RDMA devices with their port; a network interface's name here would mean TCP";
    all.add(EngineKind::Ucx, "UCX_NET_DEVICES", &listed(true), why);
    let why = "Open MPI sends through UCX, which knows the devices";
    all.add(EngineKind::OpenMpi, "OMPI_MCA_pml", "ucx", why);
}

fn topology(all: &mut Settings, node: &SettingsNode) {
    if !node.has_subnet_per_pair {
        return;
    }
    let why = "each neighbour is in another subnet: pair devices by subnet, not by index";
    all.add(EngineKind::Nccl, "NCCL_IB_SUBNET_AWARE_ROUTING", "1", why);
    let why = "merged twins would reach different neighbours";
    all.add(EngineKind::Nccl, "NCCL_IB_MERGE_NICS", "0", why);
    let why = "plug-ins of images know nothing of rings";
    all.add(EngineKind::Nccl, "NCCL_NET_PLUGIN", "none", why);
    if node.is_long_ring {
        let why = "trees need nodes that are no neighbours to meet";
        all.add(EngineKind::Nccl, "NCCL_ALGO", "Ring", why);
    }
    for (path, version) in nccl_versions(node.facts).filter(|(_, version)| *version < SUBNET_AWARE)
    {
        all.notes.push(format!(
            "{path} is NCCL {}.{}.{}, and only 2.30.7 and later pair devices by subnet: collectives of three or more nodes \
             will time out with it",
            version.0, version.1, version.2
        ));
    }
}

/// Subnet-aware routing compares the first 24 bits of addresses unless it is told otherwise (NCCL's `net_ib/connect.cc`).
fn subnet_prefix(all: &mut Settings, node: &SettingsNode) {
    const DEFAULT_QUEUE_PAIR_TIMEOUT: u8 = 24;
    let ports = node.ports.iter();
    let mut lengths = ports.filter_map(|port| Some(port.address?.prefix_len()));
    let length = lengths
        .next()
        .filter(|length| *length != DEFAULT_QUEUE_PAIR_TIMEOUT);
    if let Some(length) = length.filter(|_| node.has_subnet_per_pair) {
        let why = "how much of an address is its subnet; NCCL takes 24 bits unless it is told";
        let length = length.to_string();
        all.add(EngineKind::Nccl, "NCCL_IB_SUBNET_PREFIX_LEN", &length, why);
    }
}

fn gid_index(all: &mut Settings, facts: &Facts, ports: &[SettingsPort]) {
    let Some((path, version)) = nccl_versions(facts).find(|(_, found)| *found < CHOOSES_GID) else {
        return;
    };
    let indices: Vec<Option<u32>> = ports
        .iter()
        .filter(|port| !port.infiniband)
        .map(|port| gid_of(facts, port))
        .collect();
    let old = format!(
        "{path} is NCCL {}.{}.{}, which takes GID 0 unless it is told",
        version.0, version.1, version.2
    );
    match indices.as_slice() {
        [] => {}
        [Some(first), rest @ ..] if rest.iter().all(|index| index.as_ref() == Some(first)) => {
            let why = "this NCCL is older than 2.21 and would take GID 0; the index can drift";
            all.add(EngineKind::Nccl, "NCCL_IB_GID_INDEX", &first.to_string(), why);
            all.notes
                .push(format!("{old}: pinned to {first} for now, which can drift"));
        }
        _ => all.notes.push(format!(
            "{old}: apply this plan, then plan again to pin the index of the new addresses; better, use NCCL 2.21 or later"
        )),
    }
}

/// The RoCE v2 entry of the port's own address.
fn gid_of(facts: &Facts, port: &SettingsPort) -> Option<u32> {
    let device = facts.rdma_device(&port.device)?;
    let found = device
        .ports
        .iter()
        .find(|found| found.number == port.number)?;
    let address = port.address?.addr();
    let mut entries = found.gids.iter().filter(|entry| {
        entry.kind.known() == Some(&GidKind::RoceV2) && entry.gid.address() == address
    });
    entries.next().map(|entry| entry.index)
}

fn nccl_versions(facts: &Facts) -> impl Iterator<Item = (&str, (u32, u32, u32))> {
    let libraries = facts.software.libraries.iter();
    libraries
        .filter(|library| library.name == "libnccl")
        .filter_map(|library| {
            let version = library.version.known()?;
            let digits = version.split(|c: char| !c.is_ascii_digit());
            let mut parts = digits.filter(|part| !part.is_empty()).map(str::parse);
            let mut next = || parts.next()?.ok();
            Some((
                library.path.as_str(),
                (next()?, next()?, next().unwrap_or(0)),
            ))
        })
}
