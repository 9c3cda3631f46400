//! Which interfaces of a node take part, and what is known of them before anything is heard.

use crosstie_model::{
    Facts,
    facts::rdma::{LinkLayer, RdmaPort},
};

use super::{CablingNote, CablingReply, PortReception};
use crate::{Cage, CageGrouping, carries_management};

/// A port that takes part in a run, and what it heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SurveyedPort {
    pub device: String,
    pub interface: String,
    /// `None` where nothing but the hearing can tell who its twin is.
    pub cage: Option<String>,
    pub heard: PortReception,
}

/// A node that takes part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SurveyedNode {
    pub name: String,
    /// In the order of the interfaces that its agent was given.
    pub ports: Vec<SurveyedPort>,
}

/// The ports of a node that can take part, and why the others cannot.
pub fn interfaces_to_probe(facts: &Facts, cages: &[Cage]) -> (SurveyedNode, Vec<CablingNote>) {
    let mut survey = SurveyedNode {
        name: facts.host.name.clone(),
        ports: Vec::new(),
    };
    let mut notes = Vec::new();
    for cage in cages {
        for member in &cage.members {
            let Some(device) = facts.rdma_device(&member.device) else {
                continue;
            };
            let port = device.ports.iter().find(|port| port.number == member.port);
            let Some((port, interface)) = port.and_then(|port| Some((port, port.netdev.known()?)))
            else {
                continue;
            };
            if survey.ports.iter().any(|port| port.interface == *interface) {
                continue;
            }
            if let Some(why) = unfit(facts, port, interface) {
                notes.push(CablingNote::NotProbed {
                    node: survey.name.clone(),
                    interface: interface.clone(),
                    why,
                });
                continue;
            }
            // Cards have ids, buses and chips to go by. Software devices have none of them.
            let unknown = device.software && cage.grouping == CageGrouping::Alone;
            survey.ports.push(SurveyedPort {
                device: device.name.clone(),
                interface: interface.clone(),
                cage: (!unknown).then(|| cage.id.clone()),
                heard: PortReception::default(),
            });
        }
    }
    // The first twin is the one on the lower bus, whatever its name; software devices tell it by their addresses.
    survey.ports.sort_by_key(|port| {
        let interface = facts.network.interface(&port.interface);
        let pci = interface.and_then(|interface| interface.pci.known().copied());
        let mac = interface.and_then(|interface| interface.mac.known().cloned());
        (pci.is_none(), pci, mac)
    });
    (survey, notes)
}

fn unfit(facts: &Facts, port: &RdmaPort, interface: &str) -> Option<String> {
    if port.link_layer.known() == Some(&LinkLayer::InfiniBand) {
        return Some("it is InfiniBand, whose subnet manager knows the cabling".to_owned());
    }
    if carries_management(facts, interface) {
        return Some("the node is managed over it".to_owned());
    }
    let master = facts.network.interface(interface)?.master.known()?;
    Some(format!("it belongs to {master}"))
}

/// The node with what its agent says that it heard.
pub fn survey_node(
    survey: SurveyedNode,
    listened: CablingReply,
) -> (SurveyedNode, Vec<CablingNote>) {
    let restored = listened
        .restored
        .into_iter()
        .map(|what| CablingNote::Restored {
            node: survey.name.clone(),
            what,
        });
    let left = listened.left.into_iter().map(|what| CablingNote::Left {
        node: survey.name.clone(),
        what,
    });
    let notes = restored.chain(left).collect();
    let mut heard = listened.ports.into_iter();
    let ports = survey
        .ports
        .into_iter()
        .map(|port| SurveyedPort {
            heard: heard.next().unwrap_or_default(),
            ..port
        })
        .collect();
    let name = survey.name;
    (SurveyedNode { name, ports }, notes)
}
