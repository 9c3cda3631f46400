//! Who is on the local links: sockets for [`crosstie_discover`].

mod all_nodes;
mod mdns;
mod ssh_port;
mod wait;

use std::{
    io, thread,
    time::{Duration, Instant},
};

use crosstie_discover::{
    CandidateAddress, DiscoveryAnswer, DiscoveryPort, NoSuchInterface, NodeCandidate, OwnAddresses,
    candidates, ports,
};
use crosstie_facts::{CaptureEntry, RawCapture, facts};
use crosstie_model::{Facts, HardwareAddress, facts::net::NeighbourEntry};
use crosstie_node::netlink;

/// A machine, and whether one can log in to it.
#[derive(Debug, Clone)]
pub struct DiscoveredHost {
    pub candidate: NodeCandidate,
    /// What its ssh says first.
    pub banner: Option<String>,
    /// What ssh takes from here: its name if that is known here, else an address.
    pub destination: Option<String>,
}

/// Who was found, and where it was looked.
#[derive(Debug, Clone, Default)]
pub struct DiscoveryResult {
    pub found: Vec<DiscoveredHost>,
    /// Interfaces where multicast DNS was asked.
    pub asked: Vec<String>,
    /// Interfaces where everybody was greeted.
    pub greeted: Vec<String>,
    /// Where it could not be done, and why.
    pub notes: Vec<String>,
}

/// Asks on every interface at once for as long as `listen`, or on `only` these, then tries ssh.
pub fn discover(
    machine: &Facts,
    only: &[String],
    listen: Duration,
) -> Result<DiscoveryResult, NoSuchInterface> {
    let ports = ports(machine, only)?;
    let until = Instant::now() + listen;
    let mut discovery = DiscoveryResult::default();
    let mut sightings = Vec::new();
    thread::scope(|scope| {
        let asked: Vec<_> = ports
            .iter()
            .map(|port| (port, scope.spawn(|| mdns::query_link(port, until))))
            .collect();
        let greeted: Vec<_> = ports
            .iter()
            .filter(|port| port.fabric)
            .map(|port| (port, scope.spawn(|| all_nodes::ping_all_nodes(port, until))))
            .collect();
        let what = "multicast DNS";
        let names = &mut discovery.asked;
        gather(asked, what, names, &mut sightings, &mut discovery.notes);
        let what = "IPv6 all-nodes";
        let names = &mut discovery.greeted;
        gather(greeted, what, names, &mut sightings, &mut discovery.notes);
    });
    let own = own(machine);
    // ssh makes the kernel look up addresses that it did not know, so neighbours are asked for once more behind it.
    let first = put_together(sightings.clone(), &own);
    let answers = ssh_port::read_banners(&first);
    discovery.found = put_together(sightings, &own)
        .into_iter()
        .map(|candidate| ssh_port::found(candidate, &answers))
        .collect();
    ssh_port::name_destinations(&mut discovery.found);
    Ok(discovery)
}

type Asked<'scope> = thread::ScopedJoinHandle<'scope, io::Result<Vec<DiscoveryAnswer>>>;

fn gather(
    asked: Vec<(&DiscoveryPort, Asked<'_>)>,
    what: &str,
    names: &mut Vec<String>,
    sightings: &mut Vec<DiscoveryAnswer>,
    notes: &mut Vec<String>,
) {
    for (port, asked) in asked {
        match asked.join() {
            Ok(Ok(heard)) => {
                names.push(port.name.clone());
                sightings.extend(heard);
            }
            Ok(Err(error)) => notes.push(format!("{what} on {}: {error}", port.name)),
            Err(_) => notes.push(format!(
                "{what} on {} stopped half way; this is a bug, please report it",
                port.name
            )),
        }
    }
}

fn own(machine: &Facts) -> OwnAddresses {
    let interfaces = || machine.network.interfaces.iter();
    OwnAddresses {
        addresses: interfaces()
            .flat_map(|interface| &interface.addresses)
            .map(|own| own.net.addr())
            .collect(),
        macs: interfaces()
            .filter_map(|interface| interface.mac.known().cloned())
            .filter(|mac| mac.bytes().iter().any(|byte| *byte != 0))
            .collect(),
    }
}

fn put_together(sightings: Vec<DiscoveryAnswer>, own: &OwnAddresses) -> Vec<NodeCandidate> {
    let neighbours = neighbours();
    candidates(sightings, own, |place| neighbour(&neighbours, place))
}

fn neighbour(neighbours: &[NeighbourEntry], place: &CandidateAddress) -> Option<HardwareAddress> {
    let mut same = neighbours.iter().filter(|neighbour| {
        let zone = place.zone();
        neighbour.address == place.address()
            && (zone.is_none() || neighbour.interface.as_deref() == zone)
    });
    same.find_map(|neighbour| neighbour.mac.clone())
}

/// The kernel's table, through the parser that captures have.
fn neighbours() -> Vec<NeighbourEntry> {
    let Ok(table) = netlink::tables().neighbours else {
        return Vec::new();
    };
    let mut raw = RawCapture::default();
    raw.insert_command(
        "ip-neigh.json",
        CaptureEntry::File(table.to_string().into_bytes()),
    );
    let neighbours = facts(&raw).network.neighbours;
    neighbours.into_known().unwrap_or_default()
}
