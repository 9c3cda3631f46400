//! Settings of NCCL, UCX, Gloo and Open MPI for one node: names of devices differ between nodes.

use std::net::IpAddr;

use crosstie_fabric::management;
use crosstie_model::{
    Facts,
    facts::rdma::GidKind,
    plan::{Engine, Setting},
};

use crate::{
    topology::Topology,
    wiring::{Joined, Port, WiredNode, Wiring},
};

/// From this version on NCCL chooses the GID by itself.
const CHOOSES_GID: (u32, u32, u32) = (2, 21, 0);
/// The first that pairs devices by their subnets.
const SUBNET_AWARE: (u32, u32, u32) = (2, 30, 7);

/// The settings, and what a person should know about them.
pub fn settings(wiring: &Wiring, node: &WiredNode) -> (Vec<Setting>, Vec<String>) {
    let mut all = Settings::default();
    let ports: Vec<&Port> = node
        .ports
        .iter()
        .filter(|port| port.address.is_some() || port.infiniband)
        // A name that no file can hold is refused elsewhere; it must not get as far as a shell either.
        .filter(|port| crate::files::is_plain(&port.device))
        .collect();
    if ports.is_empty() {
        return (all.settings, all.notes);
    }
    devices(&mut all, &ports);
    bootstrap(&mut all, node.facts);
    topology(&mut all, wiring.topology, node.facts);
    subnet_prefix(&mut all, wiring.topology, &ports);
    gid_index(&mut all, node.facts, &ports);
    if ports
        .iter()
        .any(|port| matches!(port.address.map(|net| net.addr()), Some(IpAddr::V6(_))))
    {
        let why = "the fabric has IPv6 addresses alone";
        all.add(Engine::Nccl, "NCCL_IB_ADDR_FAMILY", "AF_INET6", why);
    }
    let switched = ports
        .iter()
        .any(|port| matches!(port.joined, Joined::Plane(_)) && !port.infiniband);
    if let Some(qos) = wiring.spec.qos.as_ref().filter(|_| switched) {
        let class = crate::qos::traffic_class(qos).to_string();
        let why = format!(
            "DSCP {}, which the switch maps to its lossless priority {}",
            qos.dscp, qos.priority
        );
        all.add(Engine::Nccl, "NCCL_IB_TC", &class, &why);
        all.add(Engine::Ucx, "UCX_IB_TRAFFIC_CLASS", &class, &why);
    }
    all.settings.sort_by_key(|setting| setting.engine);
    (all.settings, all.notes)
}

#[derive(Default)]
struct Settings {
    settings: Vec<Setting>,
    notes: Vec<String>,
}

impl Settings {
    fn add(&mut self, engine: Engine, name: &str, value: &str, why: &str) {
        self.settings.push(Setting {
            engine,
            name: name.to_owned(),
            value: value.to_owned(),
            why: why.to_owned(),
        });
    }
}

fn devices(all: &mut Settings, ports: &[&Port]) {
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
        Engine::Nccl,
        "NCCL_IB_HCA",
        &format!("={}", listed(false)),
        "exactly the cabled ports of this node, both twins of each cage",
    );
    let why = "RDMA devices with their port; a network interface's name here would mean TCP";
    all.add(Engine::Ucx, "UCX_NET_DEVICES", &listed(true), why);
    let why = "Open MPI sends through UCX, which knows the devices";
    all.add(Engine::OpenMpi, "OMPI_MCA_pml", "ucx", why);
}

/// Where every node can reach every other, whatever the fabric looks like.
fn bootstrap(all: &mut Settings, facts: &Facts) {
    let Some(name) = bootstrap_interface(facts).filter(|name| crate::files::is_plain(name)) else {
        let note = "no management interface is known, so NCCL_SOCKET_IFNAME is left to NCCL";
        all.notes.push(note.to_owned());
        return;
    };
    let why = "start-up talk goes over management, which reaches every node";
    all.add(Engine::Nccl, "NCCL_SOCKET_IFNAME", &format!("={name}"), why);
    all.add(Engine::Gloo, "GLOO_SOCKET_IFNAME", &name, why);
    all.add(Engine::Gloo, "TP_SOCKET_IFNAME", &name, why);
    all.add(Engine::OpenMpi, "OMPI_MCA_btl_tcp_if_include", &name, why);
    all.add(Engine::OpenMpi, "OMPI_MCA_oob_tcp_if_include", &name, why);
}

/// The best default route's, else the first that is management.
fn bootstrap_interface(facts: &Facts) -> Option<String> {
    let routes = facts.network.routes.known().into_iter().flatten();
    let default = routes
        .filter(|route| route.destination.is_none())
        .filter(|route| route.interface.is_some())
        .min_by_key(|route| route.metric);
    default
        .and_then(|route| route.interface.clone())
        .or_else(|| management(facts).into_iter().next())
}

fn topology(all: &mut Settings, topology: Topology, facts: &Facts) {
    if !topology.has_subnet_per_pair() {
        return;
    }
    let why = "each neighbour is in another subnet: pair devices by subnet, not by index";
    all.add(Engine::Nccl, "NCCL_IB_SUBNET_AWARE_ROUTING", "1", why);
    let why = "merged twins would reach different neighbours";
    all.add(Engine::Nccl, "NCCL_IB_MERGE_NICS", "0", why);
    let why = "plug-ins of images know nothing of rings";
    all.add(Engine::Nccl, "NCCL_NET_PLUGIN", "none", why);
    if matches!(topology, Topology::Ring(count) if count >= 4) {
        let why = "trees need nodes that are no neighbours to meet";
        all.add(Engine::Nccl, "NCCL_ALGO", "Ring", why);
    }
    for (path, version) in nccl_versions(facts).filter(|(_, version)| *version < SUBNET_AWARE) {
        all.notes.push(format!(
            "{path} is NCCL {}.{}.{}, and only 2.30.7 and later pair devices by subnet: collectives of three or more nodes \
             will time out with it",
            version.0, version.1, version.2
        ));
    }
}

/// Subnet-aware routing compares the first 24 bits of addresses unless it is told otherwise (NCCL's `net_ib/connect.cc`).
fn subnet_prefix(all: &mut Settings, topology: Topology, ports: &[&Port]) {
    const USUAL: u8 = 24;
    let mut lengths = ports
        .iter()
        .filter_map(|port| Some(port.address?.prefix_len()));
    let length = lengths.next().filter(|length| *length != USUAL);
    if let Some(length) = length.filter(|_| topology.has_subnet_per_pair()) {
        let why = "how much of an address is its subnet; NCCL takes 24 bits unless it is told";
        let length = length.to_string();
        all.add(Engine::Nccl, "NCCL_IB_SUBNET_PREFIX_LEN", &length, why);
    }
}

fn gid_index(all: &mut Settings, facts: &Facts, ports: &[&Port]) {
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
            all.add(Engine::Nccl, "NCCL_IB_GID_INDEX", &first.to_string(), why);
            all.notes
                .push(format!("{old}: pinned to {first} for now, which can drift"));
        }
        _ => all.notes.push(format!(
            "{old}: apply this plan, then plan again to pin the index of the new addresses; better, use NCCL 2.21 or later"
        )),
    }
}

/// The RoCE v2 entry of the port's own address.
fn gid_of(facts: &Facts, port: &Port) -> Option<u32> {
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
