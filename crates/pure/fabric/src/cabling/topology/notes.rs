//! What is odd about a wire, or about a cage that is on none.

use std::collections::BTreeSet;

use crosstie_model::Cable;

use super::{CageConnection, Named, is_port_name};
use crate::cabling::{CablingNote, SurveyedNode, SurveyedPort};

fn ports<'a>(named: &'a Named, unit: usize) -> impl Iterator<Item = &'a SurveyedPort> {
    let unit = &named.units[unit];
    let all = &named.surveys[unit.node].ports;
    unit.ports.iter().map(|port| &all[*port])
}

fn strangers(named: &Named, unit: usize) -> u32 {
    let strangers = ports(named, unit).map(|port| port.heard.strangers);
    strangers.max().unwrap_or(0)
}

/// Of a cage that no other is heard by.
pub(super) fn notes_on_unheard(named: &Named, unit: usize) -> CageConnection {
    let has_carrier = |wanted: bool| {
        ports(named, unit)
            .any(|port| port.heard.carrier == Some(wanted) && port.heard.problem.is_none())
    };
    if strangers(named, unit) > 0 {
        CageConnection::Stranger
    } else if has_carrier(true) {
        CageConnection::Nobody
    } else if has_carrier(false) {
        CageConnection::NoCarrier
    } else {
        CageConnection::Unknown
    }
}

/// Of the cages on one wire.
pub(super) fn notes(named: &Named, segment: &[usize], state: CageConnection) -> Vec<CablingNote> {
    let ports = || segment.iter().map(|unit| named.port(*unit));
    let mut notes: Vec<CablingNote> = match state {
        CageConnection::Cabled => silences(named, segment),
        CageConnection::Loop => vec![CablingNote::Loop {
            ports: ports().collect(),
        }],
        CageConnection::Nobody => ports().map(|port| CablingNote::Nobody { port }).collect(),
        CageConnection::NoCarrier => ports()
            .map(|port| CablingNote::NoCarrier { port })
            .collect(),
        CageConnection::Stranger | CageConnection::Unknown => Vec::new(),
    };
    for unit in segment {
        let frames = strangers(named, *unit);
        if frames > 0 {
            let port = named.port(*unit);
            notes.push(CablingNote::Stranger { port, frames });
        }
    }
    notes
}

/// Pairs on one wire that do not hear each other, or only one the other.
fn silences(named: &Named, segment: &[usize]) -> Vec<CablingNote> {
    let listens = |unit: usize| ports(named, unit).any(|port| port.heard.problem.is_none());
    let hears = |a: usize, b: usize| named.hearings.contains(&(a, b));
    let mut notes = Vec::new();
    for (index, a) in segment.iter().enumerate() {
        for b in &segment[index + 1..] {
            let is_one_node = named.units[*a].node == named.units[*b].node;
            if is_one_node || !listens(*a) || !listens(*b) {
                continue;
            }
            let (first, second) = (named.port(*a), named.port(*b));
            notes.extend(match (hears(*a, *b), hears(*b, *a)) {
                (true, true) => None,
                (true, false) => Some(CablingNote::OneWay {
                    hears: first,
                    deaf: second,
                }),
                (false, true) => Some(CablingNote::OneWay {
                    hears: second,
                    deaf: first,
                }),
                (false, false) => Some(CablingNote::Apart {
                    a: first,
                    b: second,
                }),
            });
        }
    }
    notes
}

pub(super) fn notes_on_twins(named: &Named, unit: usize) -> CablingNote {
    CablingNote::Twins {
        port: named.port(unit),
        devices: ports(named, unit).map(|port| port.device.clone()).collect(),
    }
}

/// Of a pair, cages that are called by their ports; in a ring it is how it should be.
pub(super) fn notes_on_crossed(cables: &[Cable]) -> Vec<CablingNote> {
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
        .map(|(a, b)| CablingNote::Crossed {
            a: a.clone(),
            b: b.clone(),
        })
        .collect()
}

pub(super) fn notes_on_unprobed(surveys: &[SurveyedNode]) -> Vec<CablingNote> {
    let ports = surveys
        .iter()
        .flat_map(|survey| survey.ports.iter().map(move |port| (survey, port)));
    ports
        .filter_map(|(survey, port)| {
            Some(CablingNote::NotProbed {
                node: survey.name.clone(),
                interface: port.interface.clone(),
                why: port.heard.problem.clone()?,
            })
        })
        .collect()
}
