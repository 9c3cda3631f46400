//! Hearings → cages, cables and what is odd about them.

use std::collections::{BTreeMap, BTreeSet};

use crosstie_model::{Cable, PortRef, Spec};

use super::{Jack, Note, Station};
use crate::cage::natural;

/// What joins the nodes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wiring {
    /// Each node's, in the order of the stations.
    pub cages: Vec<Vec<FoundCage>>,
    /// Without numbers: those are the cluster file's.
    pub cables: Vec<Cable>,
    pub notes: Vec<Note>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundCage {
    pub id: String,
    /// Which of the station's jacks.
    pub jacks: Vec<usize>,
    /// Nothing but the hearing says that these are twins.
    pub by_hearing: bool,
    pub state: CageState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CageState {
    Cabled,
    Loop,
    Stranger,
    /// A link, and none of the nodes at its other end.
    Nobody,
    NoCarrier,
    /// It could not listen, or could not tell whether there is a link.
    Unknown,
}

/// Jacks that are one cage, as far as is known so far.
#[derive(Debug, Clone)]
struct Unit {
    station: usize,
    cage: Option<String>,
    jacks: Vec<usize>,
}

/// `spec` names the planes that are known by name already.
pub fn wiring(stations: &[Station], spec: Option<&Spec>) -> Wiring {
    let units = units(stations);
    let hearings = hearings(stations, &units);
    let (units, segments) = merge(units, &hearings);
    let ids = ids(stations, &units);
    // Told again now that some units are one.
    let hearings = self::hearings(stations, &units);
    let port = |unit: usize| PortRef {
        node: stations[units[unit].station].name.clone(),
        cage: ids[unit].clone(),
    };
    let mut wiring = Wiring::default();
    let mut states = vec![CageState::Cabled; units.len()];
    let mut planes = 0;
    for segment in &segments {
        let ports: Vec<PortRef> = segment.iter().map(|unit| port(*unit)).collect();
        let nodes: BTreeSet<usize> = segment.iter().map(|unit| units[*unit].station).collect();
        match segment.as_slice() {
            [unit] => {
                let state = alone(stations, &units[*unit]);
                states[*unit] = state;
                wiring.notes.extend(note_alone(state, &ports[0], || {
                    strangers(stations, &units[*unit])
                }));
            }
            _ if nodes.len() == 1 => {
                for unit in segment {
                    states[*unit] = CageState::Loop;
                }
                wiring.notes.push(Note::Loop { ports });
            }
            _ => {
                let known = known_plane(spec, &ports);
                if segment.len() > 2 && known.is_none() {
                    planes += 1;
                }
                let plane = known.or((segment.len() > 2).then(|| format!("plane-{planes}")));
                wiring.cables.extend(cables(&ports, plane.as_deref()));
                wiring
                    .notes
                    .extend(silences(stations, &units, segment, &hearings, &port));
            }
        }
    }
    wiring.notes.extend(crossed(&wiring.cables));
    wiring.notes.extend(unfit(stations));
    wiring.cages = vec![Vec::new(); stations.len()];
    for ((unit, id), state) in units.into_iter().zip(&ids).zip(states) {
        let by_hearing = unit.cage.is_none() && unit.jacks.len() > 1;
        if by_hearing {
            let jacks = &stations[unit.station].jacks;
            wiring.notes.push(Note::Twins {
                port: PortRef {
                    node: stations[unit.station].name.clone(),
                    cage: id.clone(),
                },
                devices: unit
                    .jacks
                    .iter()
                    .map(|jack| jacks[*jack].device.clone())
                    .collect(),
            });
        }
        wiring.cages[unit.station].push(FoundCage {
            id: id.clone(),
            jacks: unit.jacks,
            by_hearing,
            state,
        });
    }
    for cages in &mut wiring.cages {
        cages.sort_by_key(|cage| natural(&cage.id));
    }
    wiring.notes.sort_by_key(|note| !note.is_problem());
    wiring
}

fn units(stations: &[Station]) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    for (station, found) in stations.iter().enumerate() {
        for (index, jack) in found.jacks.iter().enumerate() {
            let known = units.iter_mut().find(|unit| {
                unit.station == station && unit.cage.is_some() && unit.cage == jack.cage
            });
            match known {
                Some(unit) => unit.jacks.push(index),
                None => units.push(Unit {
                    station,
                    cage: jack.cage.clone(),
                    jacks: vec![index],
                }),
            }
        }
    }
    units
}

/// Who heard whom, unit by unit. A unit that hears itself hears its own twin.
fn hearings(stations: &[Station], units: &[Unit]) -> BTreeSet<(usize, usize)> {
    let owner: BTreeMap<(usize, usize), usize> = units
        .iter()
        .enumerate()
        .flat_map(|(index, unit)| {
            unit.jacks
                .iter()
                .map(move |jack| ((unit.station, *jack), index))
        })
        .collect();
    let mut found = BTreeSet::new();
    for (index, unit) in units.iter().enumerate() {
        for jack in &unit.jacks {
            let heard = &stations[unit.station].jacks[*jack].heard.heard;
            // An agent may name senders that there are none of.
            let senders = heard.iter().filter_map(|heard| {
                owner.get(&(heard.sender.node.into(), heard.sender.port.into()))
            });
            found.extend(
                senders
                    .filter(|from| **from != index)
                    .map(|from| (index, *from)),
            );
        }
    }
    found
}

/// Units on one wire, each wire in the order of the stations; and units of one node on one wire that nothing but that
/// tells to be twins made one.
fn merge(units: Vec<Unit>, hearings: &BTreeSet<(usize, usize)>) -> (Vec<Unit>, Vec<Vec<usize>>) {
    let mut wire: Vec<usize> = (0..units.len()).collect();
    for (a, b) in hearings {
        let (from, to) = (wire[*a].max(wire[*b]), wire[*a].min(wire[*b]));
        if from == to {
            continue;
        }
        for place in &mut wire {
            if *place == from {
                *place = to;
            }
        }
    }
    let mut merged: Vec<Unit> = Vec::new();
    let mut segments: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (unit, wire) in units.into_iter().zip(wire) {
        let segment = segments.entry(wire).or_default();
        let twin = segment.iter().copied().find(|other| {
            merged[*other].station == unit.station
                && (unit.cage.is_none() || merged[*other].cage.is_none())
        });
        if let Some(twin) = twin {
            merged[twin].jacks.extend(unit.jacks);
            merged[twin].cage = merged[twin].cage.take().or(unit.cage);
        } else {
            segment.push(merged.len());
            merged.push(unit);
        }
    }
    (merged, segments.into_values().collect())
}

/// What each is called: by the driver or the cluster file; else as the interfaces' names end; else as the first device.
fn ids(stations: &[Station], units: &[Unit]) -> Vec<String> {
    let ending = |unit: &Unit| {
        let jacks = &stations[unit.station].jacks;
        let mut names = unit
            .jacks
            .iter()
            .map(|jack| port_name(&jacks[*jack].interface));
        let first = names.next()??;
        names
            .all(|name| name == Some(first))
            .then(|| first.to_owned())
    };
    let wanted: Vec<Option<String>> = units
        .iter()
        .map(|unit| unit.cage.clone().or_else(|| ending(unit)))
        .collect();
    let is_taken = |unit: &Unit, index: usize, id: &String| {
        units.iter().enumerate().any(|(other, found)| {
            other != index && found.station == unit.station && wanted[other].as_ref() == Some(id)
        })
    };
    units
        .iter()
        .enumerate()
        .map(|(index, unit)| match &wanted[index] {
            Some(id) if unit.cage.is_some() || !is_taken(unit, index, id) => id.clone(),
            _ => stations[unit.station].jacks[unit.jacks[0]].device.clone(),
        })
        .collect()
}

/// udev ends an interface's name in `n` and the port's own name: `enp1s0f0np0` → `p0`.
fn port_name(interface: &str) -> Option<&str> {
    let (_, name) = interface.rsplit_once('n')?;
    is_port_name(name).then_some(name)
}

fn is_port_name(name: &str) -> bool {
    let digits = name.strip_prefix('p').unwrap_or_default();
    !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit())
}

fn jacks<'a>(stations: &'a [Station], unit: &Unit) -> impl Iterator<Item = &'a Jack> {
    let all = &stations[unit.station].jacks;
    unit.jacks.clone().into_iter().map(|jack| &all[jack])
}

fn strangers(stations: &[Station], unit: &Unit) -> u32 {
    jacks(stations, unit)
        .map(|jack| jack.heard.strangers)
        .max()
        .unwrap_or(0)
}

fn alone(stations: &[Station], unit: &Unit) -> CageState {
    let carrier = |wanted: bool| {
        move |jack: &Jack| jack.heard.carrier == Some(wanted) && jack.heard.problem.is_none()
    };
    if strangers(stations, unit) > 0 {
        CageState::Stranger
    } else if jacks(stations, unit).any(carrier(true)) {
        CageState::Nobody
    } else if jacks(stations, unit).any(carrier(false)) {
        CageState::NoCarrier
    } else {
        CageState::Unknown
    }
}

fn note_alone(state: CageState, port: &PortRef, frames: impl Fn() -> u32) -> Option<Note> {
    let port = port.clone();
    match state {
        CageState::Stranger => Some(Note::Stranger {
            port,
            frames: frames(),
        }),
        CageState::Nobody => Some(Note::Nobody { port }),
        CageState::NoCarrier => Some(Note::NoCarrier { port }),
        CageState::Cabled | CageState::Loop | CageState::Unknown => None,
    }
}

fn known_plane(spec: Option<&Spec>, ports: &[PortRef]) -> Option<String> {
    spec?.cables.iter().find_map(|cable| match cable {
        Cable::Switched { port, plane } if ports.contains(port) => Some(plane.clone()),
        _ => None,
    })
}

fn cables(ports: &[PortRef], plane: Option<&str>) -> Vec<Cable> {
    match (ports, plane) {
        ([a, b], None) => vec![Cable::Direct {
            a: a.clone(),
            b: b.clone(),
            number: None,
        }],
        (ports, plane) => ports
            .iter()
            .map(|port| Cable::Switched {
                port: port.clone(),
                plane: plane.unwrap_or_default().to_owned(),
            })
            .collect(),
    }
}

/// Pairs on one wire that do not hear each other, or only one the other.
fn silences(
    stations: &[Station],
    units: &[Unit],
    segment: &[usize],
    hearings: &BTreeSet<(usize, usize)>,
    port: &impl Fn(usize) -> PortRef,
) -> Vec<Note> {
    let listens =
        |unit: usize| jacks(stations, &units[unit]).any(|jack| jack.heard.problem.is_none());
    let mut notes = Vec::new();
    for (index, a) in segment.iter().enumerate() {
        for b in &segment[index + 1..] {
            if units[*a].station == units[*b].station || !listens(*a) || !listens(*b) {
                continue;
            }
            let (hears, is_heard) = (hearings.contains(&(*a, *b)), hearings.contains(&(*b, *a)));
            notes.extend(match (hears, is_heard) {
                (true, true) => None,
                (true, false) => Some(Note::OneWay {
                    hears: port(*a),
                    deaf: port(*b),
                }),
                (false, true) => Some(Note::OneWay {
                    hears: port(*b),
                    deaf: port(*a),
                }),
                (false, false) => Some(Note::Apart {
                    a: port(*a),
                    b: port(*b),
                }),
            });
        }
    }
    notes
}

/// Of a pair, cages that are called by their ports; in a ring it is how it should be.
fn crossed(cables: &[Cable]) -> Vec<Note> {
    let direct = cables.iter().filter_map(|cable| match cable {
        Cable::Direct { a, b, .. } => Some((a, b)),
        Cable::Switched { .. } => None,
    });
    let nodes: BTreeSet<&str> = direct
        .clone()
        .flat_map(|(a, b)| [a.node.as_str(), b.node.as_str()])
        .collect();
    if nodes.len() != 2 {
        return Vec::new();
    }
    direct
        .filter(|(a, b)| a.cage != b.cage && is_port_name(&a.cage) && is_port_name(&b.cage))
        .map(|(a, b)| Note::Crossed {
            a: a.clone(),
            b: b.clone(),
        })
        .collect()
}

fn unfit(stations: &[Station]) -> Vec<Note> {
    let jacks = stations
        .iter()
        .flat_map(|station| station.jacks.iter().map(move |jack| (station, jack)));
    jacks
        .filter_map(|(station, jack)| {
            Some(Note::NotProbed {
                node: station.name.clone(),
                interface: jack.interface.clone(),
                why: jack.heard.problem.clone()?,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests;
