//! Whether each port answers the other at its full packet size, asked of the nodes themselves.

use std::collections::BTreeMap;

use crosstie_agent::NodeCalls;
use crosstie_grade::reach::{
    AddressEnd, AddressPair, ProbeResultsByNode, ReachabilityOutcome as Reached, judge_pairs,
    probes,
};
use crosstie_model::{
    Facts,
    run::{MeasuredEnd, MeasurementFigures, MeasurementOutcome, ReachabilityFigure},
};

use super::Tested;
use crate::{Fleet, apply::ApplyTimeouts};

pub(super) fn test(fleet: &Fleet, facts: &[Facts], pairs: &[[&MeasuredEnd; 2]]) -> Tested {
    let planned: Vec<Option<AddressPair>> =
        pairs.iter().map(|pair| planned(facts, *pair)).collect();
    let asked: Vec<AddressPair> = planned.iter().flatten().cloned().collect();
    let of_node = facts.iter().map(|facts| probes(&asked, &facts.host.name));
    let of_node: Vec<_> = of_node.collect();
    let limit = ApplyTimeouts::default().answer;
    let answers = fleet.call(limit, move |index, session, progress| {
        match of_node.get(index).map_or(&[][..], Vec::as_slice) {
            [] => Ok(Vec::new()),
            probes => Ok(session.reach(probes, limit, progress)?),
        }
    });
    let hosts = facts.iter().map(|facts| facts.host.name.clone());
    let mut lost: BTreeMap<String, String> = BTreeMap::new();
    let mut told = ProbeResultsByNode::new();
    for (host, (_, answer)) in hosts.zip(answers) {
        let answer = answer.map_err(|error| error.public_line());
        if let Err(why) = &answer {
            lost.insert(host.clone(), why.clone());
        }
        told.insert(host, answer);
    }
    let mut judged = judge_pairs(asked, facts, &told).pairs.into_iter();
    let outcomes = planned.into_iter().map(|pair| match pair {
        None => MeasurementOutcome::NotApplicable {
            reason: "the port has no IP address".to_owned(),
        },
        Some(_) => outcome(judged.next().map(|judged| judged.outcome)),
    });
    Tested {
        outcomes: outcomes.map(|outcome| (outcome, Vec::new())).collect(),
        lost: lost.into_iter().collect(),
    }
}

fn outcome(reached: Option<Reached>) -> MeasurementOutcome {
    let reach = match reached {
        Some(Reached::Answered { mac_checked }) => ReachabilityFigure::Answered {
            hardware_address_checked: mac_checked,
        },
        Some(Reached::OtherPort {
            expected,
            found,
            interface,
        }) => ReachabilityFigure::OtherPort {
            expected,
            found,
            interface,
        },
        Some(Reached::NoAnswer { why: error }) => return MeasurementOutcome::Failed { error },
        Some(Reached::TooLarge { answered_bytes, .. }) => {
            let error = format!("it answers packets of {answered_bytes} bytes, and no larger ones");
            return MeasurementOutcome::Failed { error };
        }
        None => {
            let error = "it was not asked".to_owned();
            return MeasurementOutcome::Failed { error };
        }
    };
    MeasurementOutcome::Measured(MeasurementFigures::Reach(reach))
}

fn planned(facts: &[Facts], [from, to]: [&MeasuredEnd; 2]) -> Option<AddressPair> {
    let end = |end: &MeasuredEnd| {
        Some(AddressEnd {
            node: end.host.clone(),
            interface: end.interface.clone()?,
            address: end.address?,
        })
    };
    let (near, far) = (end(from)?, end(to)?);
    let mut nodes = facts.iter();
    let node = nodes.find(|facts| facts.host.name == near.node)?;
    let interface = node.network.interface(&near.interface);
    let mtu = interface.and_then(|interface| interface.mtu.known());
    Some(AddressPair {
        from: near,
        to: far,
        rail: from.rail,
        bytes: mtu.map(|mtu| mtu.0),
    })
}
