//! One node as the checks see it: facts, and which of its ports are the fabric.

use std::{collections::HashMap, net::IpAddr};

use crosstie_fabric::{Cage, ManagementInterfaces, cages};
use crosstie_model::{
    Cable, ClusterSpec, Facts, Mtu,
    facts::{
        PciDevice,
        net::{Interface, InterfaceAddress},
        rdma::{LinkLayer, RdmaDevice, RdmaPort},
    },
};
use ipnet::IpNet;

use crate::{ClockOffset, FindingSite, NodeInput, fact_index::FactIndex};

/// A node under examination.
pub struct ExaminedNode<'a> {
    /// The name that findings go by.
    pub name: &'a str,
    pub facts: &'a Facts,
    /// The same node a moment before, where counters were read twice.
    pub earlier: Option<&'a Facts>,
    /// Known of live nodes.
    pub clock: Option<ClockOffset>,
    /// The cluster file, if there is one.
    pub spec: Option<&'a ClusterSpec>,
    /// The cluster file has this node.
    pub expected: bool,
    pub cages: Vec<Cage>,
    /// The ports that carry, or should carry, RDMA between nodes.
    pub fabric: Vec<ExaminedPort<'a>>,
    /// The addresses that the cluster file gives to its interfaces.
    pub planned: HashMap<String, IpNet>,
    pub(crate) index: FactIndex<'a>,
}

/// One port of the fabric.
#[derive(Clone)]
pub struct ExaminedPort<'a> {
    pub device: &'a RdmaDevice,
    pub port: &'a RdmaPort,
    /// Into the node's cages.
    pub cage: usize,
    pub netdev: Option<&'a Interface>,
    pub function: Option<&'a PciDevice>,
    /// The cluster file names its cage.
    pub named: bool,
    /// A switch is proven to be on its cable.
    pub switched: bool,
    facts: &'a Facts,
}

impl<'a> ExaminedNode<'a> {
    pub fn new(patient: &NodeInput<'a>, spec: Option<&'a ClusterSpec>) -> Self {
        let NodeInput {
            facts,
            earlier,
            clock,
        } = *patient;
        let name = facts.host.name.as_str();
        let cages = cages(facts, spec);
        let index = FactIndex::new(facts);
        let fabric = fabric(facts, spec, &cages, &index);
        Self {
            name,
            facts,
            earlier,
            clock,
            spec,
            expected: spec.is_some_and(|spec| spec.node(name).is_some()),
            cages,
            fabric,
            planned: HashMap::new(),
            index,
        }
    }

    /// Where a port of it is.
    pub fn site(&self, port: &ExaminedPort) -> FindingSite {
        FindingSite {
            node: self.name.to_owned(),
            cage: self.cages.get(port.cage).map(|cage| cage.id.clone()),
            port: Some((port.device.name.clone(), port.port.number)),
        }
    }

    /// The MTU that the cluster file gives to a port of it.
    pub fn planned_mtu(&self, port: &ExaminedPort) -> Option<Mtu> {
        self.spec.filter(|_| port.named)?.fabric.mtu
    }

    /// A machine with no RDMA card that no cluster file names is none of our business.
    pub fn concerns_us(&self) -> bool {
        let gb10 = || {
            self.facts
                .gpus
                .iter()
                .any(crosstie_model::facts::gpu::Gpu::is_gb10)
        };
        self.expected
            || !self.facts.rdma.is_empty()
            || self.facts.pci.iter().any(is_nvidia_nic)
            || gb10()
    }

    /// The ports of the other cages' twins: members of the same cage as `port`, itself left out.
    pub fn twins(
        &self,
        port: &ExaminedPort,
    ) -> impl Iterator<Item = (&'a RdmaDevice, &'a RdmaPort)> {
        let own = port.device.name.clone();
        self.members(port.cage)
            .filter(move |(device, _)| device.name != own)
    }

    /// Every port of a cage, active or not.
    pub fn members(&self, cage: usize) -> impl Iterator<Item = (&'a RdmaDevice, &'a RdmaPort)> {
        let members = self.cages.get(cage).map(|cage| &cage.members);
        members.into_iter().flatten().filter_map(|member| {
            let device = self.index.device(&member.device)?;
            let port = device
                .ports
                .iter()
                .find(|port| port.number == member.port)?;
            Some((device, port))
        })
    }

    pub fn netdev(&self, port: &RdmaPort) -> Option<&'a Interface> {
        let name = port.netdev.known()?;
        self.facts.network.interface(name)
    }

    /// The port as it was read before.
    pub fn earlier_port(&self, device: &RdmaDevice, port: &RdmaPort) -> Option<&'a RdmaPort> {
        let device = self.earlier?.rdma_device(&device.name)?;
        device
            .ports
            .iter()
            .find(|found| found.number == port.number)
    }

    pub fn has_gb10(&self) -> bool {
        self.facts
            .gpus
            .iter()
            .any(crosstie_model::facts::gpu::Gpu::is_gb10)
    }
}

impl<'a> ExaminedPort<'a> {
    pub fn is_roce(&self) -> bool {
        self.port.link_layer.known() == Some(&LinkLayer::Ethernet)
    }

    /// Addresses of every netdev that the port has GIDs for: VLANs, macvlans and bonds included.
    pub fn addresses(&self) -> Vec<(&'a Interface, &'a InterfaceAddress)> {
        let own = self.netdev.map(|netdev| netdev.name.as_str());
        let mut names: Vec<&str> = self
            .port
            .gids
            .iter()
            .filter_map(|gid| gid.netdev.known().map(String::as_str))
            .chain(own)
            .collect();
        names.sort_unstable();
        names.dedup();
        let netdevs = names.into_iter();
        netdevs
            .filter_map(|name| self.facts.network.interface(name))
            .flat_map(|netdev| {
                netdev
                    .addresses
                    .iter()
                    .map(move |address| (netdev, address))
            })
            .collect()
    }

    /// Those of its addresses that other nodes can use at any time: no link-local ones.
    pub fn lasting_addresses(&self) -> Vec<(&'a Interface, &'a InterfaceAddress)> {
        let mut addresses = self.addresses();
        addresses.retain(|(_, address)| !is_link_local(address.net.addr()));
        addresses
    }

    /// The interface's name, or the device's where there is none.
    pub fn label(&self) -> &'a str {
        self.netdev.map_or(&self.device.name, |netdev| &netdev.name)
    }

    /// A file of the port in sysfs.
    pub fn file(&self, name: &str) -> String {
        port_file(self.device, self.port, name)
    }
}

/// A file of a port in sysfs.
pub fn port_file(device: &RdmaDevice, port: &RdmaPort, name: &str) -> String {
    format!(
        "/sys/class/infiniband/{}/ports/{}/{name}",
        device.name, port.number
    )
}

/// 169.254/16 and `fe80::/10`.
pub fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

/// A network function of NVIDIA's (formerly Mellanox's) PCI vendor id, virtual ones included.
pub fn is_nvidia_nic(device: &PciDevice) -> bool {
    const VENDOR: u16 = 0x15b3;
    // Base class 2: network controllers, Ethernet and InfiniBand alike.
    device.vendor.known() == Some(&VENDOR)
        && device.class.known().is_none_or(|class| class >> 16 == 2)
}

/// The ports that the cluster file names; else the active ones in the fastest class that do not carry management; else
/// the management port itself.
fn fabric<'a>(
    facts: &'a Facts,
    spec: Option<&ClusterSpec>,
    cages: &[Cage],
    index: &FactIndex<'a>,
) -> Vec<ExaminedPort<'a>> {
    let ports: Vec<ExaminedPort> = cages
        .iter()
        .enumerate()
        .flat_map(|(place, cage)| {
            let named = names_cage(spec, &facts.host.name, &cage.id);
            let switched = on_switch(spec, &facts.host.name, &cage.id);
            cage.members.iter().filter_map(move |member| {
                let device = index.device(&member.device)?;
                let port = device
                    .ports
                    .iter()
                    .find(|port| port.number == member.port)?;
                let netdev = port
                    .netdev
                    .known()
                    .and_then(|name| facts.network.interface(name));
                Some(ExaminedPort {
                    device,
                    port,
                    cage: place,
                    netdev,
                    function: device.pci.known().and_then(|pci| facts.pci_device(*pci)),
                    named,
                    switched: switched
                        || netdev.is_some_and(|netdev| index.has_many_neighbours(&netdev.name)),
                    facts,
                })
            })
        })
        .collect();
    if ports.iter().any(|port| port.named) {
        return ports.into_iter().filter(|port| port.named).collect();
    }
    let rate = |port: &ExaminedPort| port.port.rate.known().map_or(0.0, |rate| rate.0);
    let active = |port: &&ExaminedPort| port.port.is_active();
    let mut cage_rates = vec![0.0_f64; cages.len()];
    for port in ports.iter().filter(active) {
        cage_rates[port.cage] = cage_rates[port.cage].max(rate(port));
    }
    let highest = ports.iter().filter(active).map(rate).fold(0.0, f64::max);
    let management = ManagementInterfaces::new(facts);
    let management = |port: &ExaminedPort| {
        port.netdev
            .is_some_and(|netdev| management.rests_on(&netdev.name))
    };
    let fastest: Vec<&ExaminedPort> = ports
        .iter()
        .filter(active)
        .filter(|port| cage_rates[port.cage] >= highest)
        .collect();
    let free: Vec<ExaminedPort> = fastest
        .iter()
        .filter(|port| !management(port))
        .map(|port| (*port).clone())
        .collect();
    if free.is_empty() {
        return fastest.into_iter().cloned().collect();
    }
    free
}

/// By its cables: what a file says of cages is how ports are grouped, used or not.
fn names_cage(spec: Option<&ClusterSpec>, node: &str, cage: &str) -> bool {
    let cables = spec.map_or(&[][..], |spec| &spec.cables);
    let mut ends = cables.iter().flat_map(Cable::ends);
    ends.any(|end| end.node == node && end.cage == cage)
}

fn on_switch(spec: Option<&ClusterSpec>, node: &str, cage: &str) -> bool {
    let cables = spec.map_or(&[][..], |spec| &spec.cables);
    cables.iter().any(|cable| {
        matches!(cable, Cable::Switched { port, .. } if port.node == node && port.cage == cage)
    })
}
