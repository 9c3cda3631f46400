//! Ports grouped into cages.

use std::collections::{BTreeMap, HashMap};

use crosstie_model::{
    ClusterSpec, Facts, Guid, Reading,
    facts::{
        net::Interface,
        rdma::{RdmaDevice, RdmaPort},
    },
    spec::{self, PortMatch},
};

use crate::ceiling::{PortCeiling, cage_ceiling};

/// A port, by the label that it has now.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PortId {
    pub device: String,
    pub port: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Cage {
    /// Unique on the node: the port's own name (`p0`) where that is unique, else its first device's.
    pub id: String,
    pub members: Vec<PortId>,
    pub grouping: CageGrouping,
    /// Any member is active.
    pub active: bool,
    /// Of the active members together.
    pub ceiling: Option<PortCeiling>,
}

/// How sure the grouping is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CageGrouping {
    /// The cluster file says so.
    Spec,
    /// The driver gives the same switch id and port name.
    Driver,
    /// No ids from the driver: one chip (system image GUID), the same function number, separate PCI buses.
    Chip,
    /// Nothing to go by: a cage of its own.
    Alone,
}

/// What makes two ports twins, in falling order of trust.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Spec(String),
    Driver(String, String),
    Chip(Guid, u8),
    Alone(PortId),
}

type Port<'a> = (&'a RdmaDevice, &'a RdmaPort);

/// The cages of a node, each with its members. Virtual functions have no cage: they borrow their parent's.
pub fn cages(facts: &Facts, spec: Option<&ClusterSpec>) -> Vec<Cage> {
    let declared = spec
        .and_then(|spec| spec.node(&facts.host.name))
        .map_or(&[][..], |node| &node.cages);
    let mut groups: BTreeMap<Key, Vec<Port>> = BTreeMap::new();
    for device in facts
        .rdma
        .iter()
        .filter(|device| !is_virtual_function(facts, device))
    {
        for port in &device.ports {
            groups
                .entry(key(facts, declared, (device, port)))
                .or_default()
                .push((device, port));
        }
    }
    let groups = split_false_twins(groups);
    let mut times: HashMap<&str, usize> = HashMap::new();
    for name in groups.iter().filter_map(|(key, _)| port_name(key)) {
        *times.entry(name).or_default() += 1;
    }
    let unique = |name: &str| times.get(name) == Some(&1);
    let mut cages: Vec<Cage> = groups
        .iter()
        .map(|(key, ports)| {
            let name = match key {
                Key::Spec(id) => Some(id.as_str()),
                key => port_name(key).filter(|name| unique(name)),
            };
            cage(facts, name, key, ports)
        })
        .collect();
    cages.sort_by_cached_key(|a| natural(&a.id));
    cages
}

fn cage(facts: &Facts, name: Option<&str>, key: &Key, ports: &[Port]) -> Cage {
    let first = ports.first().map_or("", |(device, _)| device.name.as_str());
    let number = ports.first().map_or(1, |(_, port)| port.number);
    let fallback = if number == 1 {
        first.to_owned()
    } else {
        format!("{first}-{number}")
    };
    Cage {
        id: name.map_or(fallback, str::to_owned),
        members: ports
            .iter()
            .map(|(device, port)| PortId {
                device: device.name.clone(),
                port: port.number,
            })
            .collect(),
        grouping: match key {
            Key::Spec(_) => CageGrouping::Spec,
            Key::Driver(..) => CageGrouping::Driver,
            Key::Chip(..) => CageGrouping::Chip,
            Key::Alone(_) => CageGrouping::Alone,
        },
        active: ports.iter().any(|(_, port)| port.is_active()),
        ceiling: cage_ceiling(facts, ports.iter().copied()),
    }
}

fn key(facts: &Facts, declared: &[spec::CageSpec], (device, port): Port) -> Key {
    let netdev = netdev(facts, port);
    let matches = |wanted: &PortMatch| is_meant(facts, wanted, (device, port));
    if let Some(cage) = declared.iter().find(|cage| cage.ports.iter().any(matches)) {
        return Key::Spec(cage.id.clone());
    }
    if let Some(netdev) = netdev
        && let (Reading::Value(switch), Reading::Value(port)) =
            (&netdev.switch_id, &netdev.port_name)
    {
        return Key::Driver(switch.clone(), port.clone());
    }
    if !device.software
        && let (Some(chip), Some(pci)) = (
            device.system_guid.known().filter(|guid| guid.0 != 0),
            device.pci.known(),
        )
    {
        return Key::Chip(*chip, pci.function);
    }
    Key::Alone(PortId {
        device: device.name.clone(),
        port: port.number,
    })
}

fn netdev<'a>(facts: &'a Facts, port: &RdmaPort) -> Option<&'a Interface> {
    port.netdev
        .known()
        .and_then(|name| facts.network.interface(name))
}

/// Whether the cluster file means this port.
pub fn is_meant(
    facts: &Facts,
    wanted: &PortMatch,
    (device, port): (&RdmaDevice, &RdmaPort),
) -> bool {
    match wanted {
        PortMatch::Name(name) => *name == device.name,
        PortMatch::Guid { guid } => device.node_guid.known() == Some(guid),
        PortMatch::Mac { mac } => {
            netdev(facts, port).and_then(|netdev| netdev.mac.known()) == Some(mac)
        }
    }
}

/// By chip alone, two ports on one PCI bus are neighbours, not twins: twins come in over separate links.
fn split_false_twins<'a>(groups: BTreeMap<Key, Vec<Port<'a>>>) -> Vec<(Key, Vec<Port<'a>>)> {
    groups
        .into_iter()
        .flat_map(|(key, ports)| {
            let bus = |(device, _): &Port| device.pci.known().map(|pci| (pci.domain, pci.bus));
            let mut buses: Vec<_> = ports.iter().map(bus).collect();
            buses.sort_unstable();
            buses.dedup();
            if !matches!(key, Key::Chip(..)) || (buses.len() == ports.len() && ports.len() > 1) {
                return vec![(key, ports)];
            }
            let alone = |(device, port): Port<'a>| {
                let id = PortId {
                    device: device.name.clone(),
                    port: port.number,
                };
                (Key::Alone(id), vec![(device, port)])
            };
            ports.into_iter().map(alone).collect()
        })
        .collect()
}

fn port_name(key: &Key) -> Option<&str> {
    match key {
        Key::Driver(_, name) => Some(name),
        _ => None,
    }
}

fn is_virtual_function(facts: &Facts, device: &RdmaDevice) -> bool {
    let function = device.pci.known().and_then(|pci| facts.pci_device(*pci));
    function.is_some_and(crosstie_model::facts::PciDevice::is_virtual_function)
}

/// `p2` before `p10`: the text with each run of digits as a number.
pub(crate) fn natural(id: &str) -> Vec<(String, u64)> {
    let mut parts = Vec::new();
    let mut rest = id;
    while !rest.is_empty() {
        let text = rest
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(rest.len());
        let digits = rest[text..]
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len() - text);
        parts.push((
            rest[..text].to_owned(),
            rest[text..text + digits].parse().unwrap_or(0),
        ));
        rest = &rest[text + digits..];
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_as_people_count() {
        assert!(natural("p2") < natural("p10"));
        assert!(natural("mlx5_9") < natural("mlx5_10"));
    }
}
