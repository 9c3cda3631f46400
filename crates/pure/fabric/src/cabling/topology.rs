//! Hearings → cages, cables and what is odd about them.

mod notes;

use std::collections::{BTreeMap, BTreeSet};

use crosstie_model::{Cable, ClusterSpec, PortRef};

use super::{CablingNote, SurveyedNode};
use crate::cage::natural;
use notes::{notes, notes_on_crossed, notes_on_twins, notes_on_unheard, notes_on_unprobed};

/// What joins the nodes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DetectedCabling {
    /// Each node's, in the order of the surveys.
    pub cages: Vec<Vec<FoundCage>>,
    /// Without numbers: those are the cluster file's.
    pub cables: Vec<Cable>,
    pub notes: Vec<CablingNote>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundCage {
    pub id: String,
    /// Which of the survey's ports.
    pub ports: Vec<usize>,
    /// Nothing but the hearing says that these are twins.
    pub by_hearing: bool,
    pub connection: CageConnection,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CageConnection {
    Cabled,
    Loop,
    Stranger,
    /// A link, and none of the nodes at its other end.
    Nobody,
    NoCarrier,
    /// It could not listen, or could not tell whether there is a link.
    Unknown,
}

/// Ports that are one cage, as far as is known so far.
#[derive(Debug, Clone)]
struct Unit {
    node: usize,
    cage: Option<String>,
    ports: Vec<usize>,
}

/// Units with their names, and who of them heard whom.
struct Named<'a> {
    surveys: &'a [SurveyedNode],
    units: Vec<Unit>,
    ids: Vec<String>,
    hearings: BTreeSet<(usize, usize)>,
}

impl Named<'_> {
    fn port(&self, unit: usize) -> PortRef {
        PortRef {
            node: self.surveys[self.units[unit].node].name.clone(),
            cage: self.ids[unit].clone(),
        }
    }
}

/// `spec` names the planes that are known by name already.
pub fn detect_cabling(surveys: &[SurveyedNode], spec: Option<&ClusterSpec>) -> DetectedCabling {
    let units = units(surveys);
    let (units, segments) = merge(units.clone(), &hearings(surveys, &units));
    let named = Named {
        surveys,
        ids: ids(surveys, &units),
        // Told again now that some units are one.
        hearings: hearings(surveys, &units),
        units,
    };
    let mut wiring = DetectedCabling::default();
    let mut states = vec![CageConnection::Cabled; named.units.len()];
    let mut planes = free_planes(spec);
    for segment in &segments {
        let ports: Vec<PortRef> = segment.iter().map(|unit| named.port(*unit)).collect();
        let state = state(&named, segment);
        for unit in segment {
            states[*unit] = state;
        }
        wiring.notes.extend(notes(&named, segment, state));
        if state == CageConnection::Cabled {
            let is_plane = segment.len() > 2;
            let plane =
                known_plane(spec, &ports).or_else(|| if is_plane { planes.next() } else { None });
            wiring.cables.extend(cables(&ports, plane.as_deref()));
        }
    }
    wiring.notes.extend(notes_on_crossed(&wiring.cables));
    wiring.notes.extend(notes_on_unprobed(surveys));
    wiring.cages = vec![Vec::new(); surveys.len()];
    for (index, (unit, state)) in named.units.iter().zip(states).enumerate() {
        let by_hearing = unit.cage.is_none() && unit.ports.len() > 1;
        if by_hearing {
            wiring.notes.push(notes_on_twins(&named, index));
        }
        wiring.cages[unit.node].push(FoundCage {
            id: named.ids[index].clone(),
            ports: unit.ports.clone(),
            by_hearing,
            connection: state,
        });
    }
    for cages in &mut wiring.cages {
        cages.sort_by_key(|cage| natural(&cage.id));
    }
    wiring.notes.sort_by_key(|note| !note.is_problem());
    wiring
}

fn state(named: &Named, segment: &[usize]) -> CageConnection {
    let nodes: BTreeSet<usize> = segment.iter().map(|unit| named.units[*unit].node).collect();
    match segment {
        [unit] => notes_on_unheard(named, *unit),
        _ if nodes.len() == 1 => CageConnection::Loop,
        _ => CageConnection::Cabled,
    }
}

/// Names for planes that the cluster file has not.
fn free_planes(spec: Option<&ClusterSpec>) -> impl Iterator<Item = String> {
    let cables = spec.into_iter().flat_map(|spec| &spec.cables);
    let taken: BTreeSet<String> = cables
        .filter_map(|cable| match cable {
            Cable::Switched { plane, .. } => Some(plane.clone()),
            Cable::Direct { .. } => None,
        })
        .collect();
    let names = (1..).map(|number| format!("plane-{number}"));
    names.filter(move |name| !taken.contains(name))
}

fn units(surveys: &[SurveyedNode]) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    for (node, found) in surveys.iter().enumerate() {
        for (index, port) in found.ports.iter().enumerate() {
            let known = units
                .iter_mut()
                .find(|unit| unit.node == node && unit.cage.is_some() && unit.cage == port.cage);
            match known {
                Some(unit) => unit.ports.push(index),
                None => units.push(Unit {
                    node,
                    cage: port.cage.clone(),
                    ports: vec![index],
                }),
            }
        }
    }
    units
}

/// Who heard whom, unit by unit. A unit that hears itself hears its own twin.
fn hearings(surveys: &[SurveyedNode], units: &[Unit]) -> BTreeSet<(usize, usize)> {
    let owner: BTreeMap<(usize, usize), usize> = units
        .iter()
        .enumerate()
        .flat_map(|(index, unit)| {
            unit.ports
                .iter()
                .map(move |port| ((unit.node, *port), index))
        })
        .collect();
    let mut found = BTreeSet::new();
    for (index, unit) in units.iter().enumerate() {
        for port in &unit.ports {
            let heard = &surveys[unit.node].ports[*port].heard.heard;
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

/// Units on one wire, each wire in the order of the surveys; and units of one node on one wire that nothing but that
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
            merged[*other].node == unit.node
                && (unit.cage.is_none() || merged[*other].cage.is_none())
        });
        if let Some(twin) = twin {
            merged[twin].ports.extend(unit.ports);
            merged[twin].cage = merged[twin].cage.take().or(unit.cage);
        } else {
            segment.push(merged.len());
            merged.push(unit);
        }
    }
    (merged, segments.into_values().collect())
}

/// What each is called: by the driver or the cluster file; else as the interfaces' names end; else as the first device.
fn ids(surveys: &[SurveyedNode], units: &[Unit]) -> Vec<String> {
    let ending = |unit: &Unit| {
        let ports = &surveys[unit.node].ports;
        let mut names = unit
            .ports
            .iter()
            .map(|port| port_name(&ports[*port].interface));
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
            other != index && found.node == unit.node && wanted[other].as_ref() == Some(id)
        })
    };
    units
        .iter()
        .enumerate()
        .map(|(index, unit)| match &wanted[index] {
            Some(id) if unit.cage.is_some() || !is_taken(unit, index, id) => id.clone(),
            _ => surveys[unit.node].ports[unit.ports[0]].device.clone(),
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

fn known_plane(spec: Option<&ClusterSpec>, ports: &[PortRef]) -> Option<String> {
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

#[cfg(test)]
mod tests;
