//! Whether every address answers every other, asked of the nodes themselves.

use std::{thread, time::Duration};

use crosstie_agent::NodeCalls;
use crosstie_grade::reach::{
    self, AddressEnd, AddressPair, ProbeResultsByNode, ReachabilityOutcome, ReachabilityProof,
    judge_pairs, probes, smaller_probes, with_smaller,
};
use crosstie_model::{
    Cable, ClusterPlan, ClusterSpec, Facts,
    change::{ProbeResult, ReachabilityProbe},
};

use crate::{Fleet, apply::ApplyTimeouts};

/// Links that were just set up may take a moment.
const RETRY_INTERVAL: Duration = Duration::from_secs(3);
/// A neighbour's old entry is believed for a while (`base_reachable_time`, `delay_first_probe_time`).
const STALE_NEIGHBOUR_INTERVAL: Duration = Duration::from_secs(10);
const MAX_TRIES: usize = 4;

/// The facts are in the fleet's order.
pub(super) fn prove(
    fleet: &Fleet,
    plan: &ClusterPlan,
    spec: &ClusterSpec,
    facts: &[Facts],
) -> ReachabilityProof {
    let hosts: Vec<&str> = facts.iter().map(|node| node.host.name.as_str()).collect();
    let ask = |probes: &dyn Fn(&str) -> Vec<ReachabilityProbe>| -> ProbeResultsByNode {
        let asked = hosts.iter().map(|host| probes(host));
        let answers = probed(fleet, asked.collect());
        let named = hosts.iter().map(|host| (*host).to_owned());
        named.zip(answers).collect()
    };
    let proof = again(MAX_TRIES, thread::sleep, || {
        let pairs = reach::pairs(plan, facts);
        let answers = ask(&|host| probes(&pairs, host));
        judge_pairs(pairs, facts, &answers)
    });
    if proof.holds() {
        return proof;
    }
    let answers = ask(&|host| smaller_probes(&proof, host));
    with_smaller(proof, &answers, |pair| cable(spec, plan, pair))
}

/// The one cable between two ports, in words.
fn cable(spec: &ClusterSpec, plan: &ClusterPlan, pair: &AddressPair) -> Option<String> {
    let port = |end: &AddressEnd| {
        let node = plan.nodes.iter().find(|node| node.node == end.node)?;
        let mut addresses = node.addresses.iter();
        let own = addresses.find(|own| own.interface == end.interface)?;
        Some(format!("{}:{}", end.node, own.cage))
    };
    let (from, to) = (port(&pair.from)?, port(&pair.to)?);
    spec.cables.iter().find_map(|cable| match cable {
        Cable::Direct { a, b, number } => {
            let ends = [a.to_string(), b.to_string()];
            let is_it = ends.contains(&from) && ends.contains(&to);
            let number = number.map_or_else(String::new, |number| format!(" {number}"));
            is_it.then(|| format!("cable{number} ({} – {})", ends[0], ends[1]))
        }
        Cable::Switched { .. } => None,
    })
}

fn probed(
    fleet: &Fleet,
    probes: Vec<Vec<ReachabilityProbe>>,
) -> Vec<Result<Vec<ProbeResult>, String>> {
    let limit = ApplyTimeouts::default().answer;
    let answers = fleet.call(limit, move |index, session, progress| {
        match probes[index].as_slice() {
            [] => Ok(Vec::new()),
            probes => Ok(session.reach(probes, limit, progress)?),
        }
    });
    let answers = answers.into_iter();
    answers
        .map(|(_, answer)| answer.map_err(|error| error.line()))
        .collect()
}

/// Until it holds, with pauses between the tries.
fn again(
    tries: usize,
    pause: impl Fn(Duration),
    mut once: impl FnMut() -> ReachabilityProof,
) -> ReachabilityProof {
    let mut proof = once();
    for _ in 1..tries {
        if proof.holds() {
            break;
        }
        let mut outcomes = proof.pairs.iter().map(|judged| &judged.outcome);
        let astray =
            outcomes.any(|outcome| matches!(outcome, ReachabilityOutcome::OtherPort { .. }));
        pause(if astray {
            STALE_NEIGHBOUR_INTERVAL
        } else {
            RETRY_INTERVAL
        });
        proof = once();
    }
    proof
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use crosstie_grade::reach::JudgedPair;

    use super::*;

    fn proof(outcome: ReachabilityOutcome) -> ReachabilityProof {
        let end = |node: &str| AddressEnd {
            node: node.to_owned(),
            interface: "eth1".to_owned(),
            address: [10, 0, 0, 1].into(),
        };
        let pair = AddressPair {
            from: end("a"),
            to: end("b"),
            rail: 0,
            bytes: Some(9000),
        };
        ReachabilityProof {
            pairs: vec![JudgedPair { pair, outcome }],
        }
    }

    #[test]
    fn a_link_that_is_not_there_yet_and_a_stale_neighbour_are_asked_again() {
        let silent = || {
            proof(ReachabilityOutcome::NoAnswer {
                why: "no answer".to_owned(),
            })
        };
        let astray = || {
            proof(ReachabilityOutcome::OtherPort {
                expected: "02:00:00:00:00:01".parse().unwrap(),
                found: "02:00:00:00:00:02".parse().unwrap(),
                interface: None,
            })
        };
        let good = || proof(ReachabilityOutcome::Answered { mac_checked: true });
        let pauses = RefCell::new(Vec::new());
        let mut answers = vec![good(), astray(), silent()];
        let last = again(
            4,
            |time| pauses.borrow_mut().push(time),
            || answers.pop().unwrap(),
        );
        assert!(last.holds());
        assert_eq!(*pauses.borrow(), [RETRY_INTERVAL, STALE_NEIGHBOUR_INTERVAL]);
        assert!(!again(2, |_| (), silent).holds());
    }
}
