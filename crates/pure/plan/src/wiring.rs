//! Who is joined to whom: every fabric port with its address, on nodes that were read and on those that were not.

use std::collections::{BTreeMap, HashMap};

use crosstie_fabric::{Cage, CageGrouping, PortId, cages, is_meant};
use crosstie_model::{
    Cable, ClusterSpec, Facts, PortRef,
    facts::rdma::{LinkLayer, RdmaDevice, RdmaPort},
    spec::{SpecFault, SpecLocation, SpecProblem, TwinAddresses},
};
use ipnet::IpNet;

use crate::{
    addresses::{MAX_CAGES_PER_PLANE, MAX_TWINS, SubnetPool},
    topology::Topology,
};

pub struct PlannedWiring<'a> {
    pub spec: &'a ClusterSpec,
    pub topology: Topology,
    /// Those that were read, in the order of the cluster file.
    pub nodes: Vec<WiredNode<'a>>,
    /// Names of those that were not.
    pub missing: Vec<String>,
    /// Who is in a subnet, by place in the cluster file.
    members: HashMap<IpNet, Vec<(usize, IpNet)>>,
}

pub struct WiredNode<'a> {
    /// Its place in the cluster file.
    pub index: usize,
    pub facts: &'a Facts,
    pub cages: Vec<Cage>,
    /// Ports of cabled cages, in the order of the cluster file and their rails.
    pub ports: Vec<WiredPort>,
    /// Cages that the cluster file names and the node does not have.
    pub unknown: Vec<String>,
}

/// A port of a cabled cage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WiredPort {
    pub cage: String,
    pub device: String,
    pub number: u32,
    pub interface: Option<String>,
    pub infiniband: bool,
    pub joined: CableTarget,
    pub rail: u32,
    /// None where it has no partner, or on InfiniBand.
    pub address: Option<IpNet>,
}

/// What a cable goes to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum CableTarget {
    /// Its number.
    Cable(u32),
    Plane(String),
}

impl<'a> PlannedWiring<'a> {
    pub fn new(
        spec: &'a ClusterSpec,
        facts: impl IntoIterator<Item = &'a Facts>,
    ) -> Result<Self, Vec<SpecFault>> {
        let by_name: HashMap<&str, &Facts> = facts
            .into_iter()
            .map(|facts| (facts.host.name.as_str(), facts))
            .collect();
        let mut nodes = Vec::new();
        let mut missing = Vec::new();
        for (index, node) in spec.nodes.iter().enumerate() {
            match by_name.get(node.name.as_str()) {
                Some(facts) => nodes.push(WiredNode {
                    index,
                    facts,
                    cages: cages(facts, Some(spec)),
                    ports: Vec::new(),
                    unknown: Vec::new(),
                }),
                None => missing.push(node.name.clone()),
            }
        }
        let mut wiring = Self {
            spec,
            topology: Topology::of(spec),
            nodes,
            missing,
            members: HashMap::new(),
        };
        Builder::new(&mut wiring).run()?;
        Ok(wiring)
    }

    /// Everyone in the subnets of a node, itself too: place in the cluster file and address.
    pub fn neighbours(&self, node: &WiredNode) -> Vec<(usize, IpNet)> {
        let subnets = node.ports.iter().filter_map(|port| port.address);
        subnets
            .flat_map(|address| self.in_subnet(address))
            .copied()
            .collect()
    }

    pub fn in_subnet(&self, address: IpNet) -> &[(usize, IpNet)] {
        self.members
            .get(&address.trunc())
            .map_or(&[], Vec::as_slice)
    }
}

impl WiredNode<'_> {
    /// Whether another port of this node hears the same frames.
    pub fn shares_a_segment(&self, port: &WiredPort) -> bool {
        let same = |other: &&WiredPort| other.joined == port.joined;
        self.ports.iter().filter(same).count() > 1
    }

    pub fn is_fabric(&self, interface: &str) -> bool {
        let names = self
            .ports
            .iter()
            .filter_map(|port| port.interface.as_deref());
        names.into_iter().any(|name| name == interface)
    }
}

struct Builder<'w, 'a> {
    wiring: &'w mut PlannedWiring<'a>,
    /// Name → place in the cluster file, and place in `nodes` where it was read.
    places: HashMap<&'a str, (usize, Option<usize>)>,
    owners: BTreeMap<IpNet, CableTarget>,
    faults: Vec<SpecFault>,
}

/// The ports of one cage that get addresses, and the rest.
struct End {
    spec_index: usize,
    node: Option<usize>,
    cage: String,
    ports: Vec<(PortId, Option<String>, bool)>,
}

impl<'w, 'a> Builder<'w, 'a> {
    fn new(wiring: &'w mut PlannedWiring<'a>) -> Self {
        let read: HashMap<usize, usize> = wiring
            .nodes
            .iter()
            .enumerate()
            .map(|(place, node)| (node.index, place))
            .collect();
        let nodes = wiring.spec.nodes.iter().enumerate();
        let places = nodes
            .map(|(index, node)| (node.name.as_str(), (index, read.get(&index).copied())))
            .collect();
        Self {
            wiring,
            places,
            owners: BTreeMap::new(),
            faults: Vec::new(),
        }
    }

    fn run(mut self) -> Result<(), Vec<SpecFault>> {
        let spec = self.wiring.spec;
        if spec.cables.is_empty() {
            return Ok(());
        }
        let subnets = match SubnetPool::new(spec) {
            Ok(subnets) => Some(subnets),
            // Only InfiniBand needs no addresses.
            Err(_)
                if self
                    .wiring
                    .nodes
                    .iter()
                    .all(|node| is_infiniband(node.facts)) =>
            {
                None
            }
            Err(fault) => return Err(vec![fault]),
        };
        for (index, number, a, b) in spec.direct_cables() {
            self.direct(subnets.as_ref(), SpecLocation::Cable(index), number, [a, b]);
        }
        let planes: HashMap<&str, u32> = spec.plane_numbers().into_iter().collect();
        let mut cages: HashMap<(&str, &str), u32> = HashMap::new();
        for (index, cable) in spec.cables.iter().enumerate() {
            if let Cable::Switched { port, plane } = cable {
                let before = cages.entry((&port.node, plane)).or_default();
                let number = planes.get(plane.as_str()).copied().unwrap_or(0);
                let place = SpecLocation::Cable(index);
                self.switched(subnets.as_ref(), place, (plane, number), port, *before);
                *before += 1;
            }
        }
        if self.faults.is_empty() {
            Ok(())
        } else {
            Err(self.faults)
        }
    }

    fn direct(
        &mut self,
        subnets: Option<&SubnetPool>,
        place: SpecLocation,
        number: u32,
        ends: [&PortRef; 2],
    ) {
        let ends = ends.map(|end| self.end(end));
        // A twin without a partner has nobody to talk to. Of an end that was not read, the other's twins are assumed.
        let known = ends.iter().filter(|end| end.node.is_some());
        let rails = known.map(|end| end.ports.len()).min().unwrap_or(0);
        let rails = self.addressed(rails);
        let joined = CableTarget::Cable(number);
        for (host, end) in (1..).zip(&ends) {
            self.place(
                end,
                (subnets, place),
                &joined,
                (0, rails),
                |subnets, rail| {
                    let subnet = subnets.of_cable(place, number, rail)?;
                    SubnetPool::host(place, subnet, host)
                },
            );
        }
    }

    fn switched(
        &mut self,
        subnets: Option<&SubnetPool>,
        place: SpecLocation,
        (name, number): (&str, u32),
        port: &PortRef,
        before: u32,
    ) {
        let end = self.end(port);
        if before >= MAX_CAGES_PER_PLANE {
            let problem = SpecProblem::TooManyCages {
                node: port.node.clone(),
                plane: name.to_owned(),
                found: before as usize + 1,
                most: MAX_CAGES_PER_PLANE as usize,
            };
            self.faults.push(SpecFault { place, problem });
            return;
        }
        let rails = self.addressed(end.ports.len().max(1));
        let host = self.wiring.spec.nodes[end.spec_index].number_at(end.spec_index);
        let node_place = SpecLocation::Node(end.spec_index);
        let joined = CableTarget::Plane(name.to_owned());
        let rails = (before * MAX_TWINS, rails);
        self.place(&end, (subnets, place), &joined, rails, |subnets, rail| {
            let subnet = subnets.of_plane(place, (name, number), rail)?;
            SubnetPool::host(node_place, subnet, host)
        });
    }

    fn addressed(&self, ports: usize) -> u32 {
        let most = match self.wiring.spec.fabric.twin_addresses {
            TwinAddresses::All => MAX_TWINS,
            TwinAddresses::First => 1,
        };
        most.min(u32::try_from(ports).unwrap_or(most))
    }

    /// Puts the ports of one end into the wiring, the first `rails` of them with an address.
    fn place(
        &mut self,
        end: &End,
        (subnets, place): (Option<&SubnetPool>, SpecLocation),
        joined: &CableTarget,
        (first, rails): (u32, u32),
        address: impl Fn(&SubnetPool, u32) -> Result<IpNet, SpecFault>,
    ) {
        let count = u32::try_from(end.ports.len())
            .unwrap_or(u32::MAX)
            .max(rails);
        for member in 0..count {
            let port = end.ports.get(member as usize);
            let infiniband = port.is_some_and(|(_, _, infiniband)| *infiniband);
            let wanted = subnets.filter(|_| member < rails && !infiniband);
            let address = match wanted.map(|subnets| address(subnets, first + member)) {
                Some(Ok(address)) => Some(address),
                Some(Err(fault)) => {
                    self.faults.push(fault);
                    return;
                }
                None => None,
            };
            if let (Some(address), Some(subnets)) = (address, subnets) {
                self.own(subnets, place, address.trunc(), joined);
                let members = self.wiring.members.entry(address.trunc()).or_default();
                members.push((end.spec_index, address));
            }
            if let (Some(node), Some((id, interface, infiniband))) = (end.node, port) {
                self.wiring.nodes[node].ports.push(WiredPort {
                    cage: end.cage.clone(),
                    device: id.device.clone(),
                    number: id.port,
                    interface: interface.clone(),
                    infiniband: *infiniband,
                    joined: joined.clone(),
                    rail: first + member,
                    address,
                });
            }
        }
    }

    /// Cables take subnets from one end of the pool and planes from the other: they must not meet.
    fn own(
        &mut self,
        subnets: &SubnetPool,
        place: SpecLocation,
        subnet: IpNet,
        joined: &CableTarget,
    ) {
        let owner = self.owners.entry(subnet).or_insert_with(|| joined.clone());
        if owner != joined {
            let what = match joined {
                CableTarget::Cable(number) => format!("cable {number}"),
                CableTarget::Plane(name) => format!("plane '{name}'"),
            };
            self.faults.push(subnets.met(place, what, subnet));
        }
    }

    fn end(&mut self, end: &PortRef) -> End {
        // The file was checked: its cables end at its nodes.
        let (spec_index, node) = self
            .places
            .get(end.node.as_str())
            .copied()
            .unwrap_or((0, None));
        let mut ports = Vec::new();
        if let Some(place) = node {
            let spec = self.wiring.spec;
            let wired = &mut self.wiring.nodes[place];
            match wired.cages.iter().find(|cage| cage.id == end.cage) {
                Some(cage) => ports = members(wired.facts, spec, cage),
                None => wired.unknown.push(end.cage.clone()),
            }
        }
        End {
            spec_index,
            node,
            cage: end.cage.clone(),
            ports,
        }
    }
}

fn is_infiniband(facts: &Facts) -> bool {
    let mut ports = facts.rdma.iter().flat_map(|device| &device.ports);
    ports.all(|port| port.link_layer.known() == Some(&LinkLayer::InfiniBand))
}

/// The ports of a cage: in the order in which the cluster file lists them, else in that of their places in the machine.
fn members(facts: &Facts, spec: &ClusterSpec, cage: &Cage) -> Vec<(PortId, Option<String>, bool)> {
    let mut found: Vec<(&PortId, &RdmaDevice, &RdmaPort)> = cage
        .members
        .iter()
        .filter_map(|id| {
            let device = facts.rdma_device(&id.device)?;
            let port = device.ports.iter().find(|port| port.number == id.port)?;
            Some((id, device, port))
        })
        .collect();
    if cage.grouping == CageGrouping::Spec
        && let Some(node) = spec.node(&facts.host.name)
        && let Some(declared) = node.cages.iter().find(|declared| declared.id == cage.id)
    {
        found.sort_by_key(|(_, device, port)| {
            let meant = |wanted| is_meant(facts, wanted, (device, port));
            declared.ports.iter().position(meant)
        });
    }
    found
        .into_iter()
        .map(|(id, _, port)| {
            let infiniband = port.link_layer.known() == Some(&LinkLayer::InfiniBand);
            (id.clone(), port.netdev.known().cloned(), infiniband)
        })
        .collect()
}
