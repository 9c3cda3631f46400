//! The proof of a configured fabric: every address answers every other of its subnet, at the full MTU, from the port that
//! has it.
//!
//! Ping alone proves little: a kernel answers for any of its addresses on any interface, while a card drops RDMA for an
//! address that it does not have. So the MAC address counts, too.

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, HashMap},
    net::IpAddr,
};

use crosstie_model::{
    ClusterPlan, Facts, HardwareAddress, NodePlan, PlanStep,
    change::{ProbeResult, ReachabilityProbe},
    plan::FabricAddress,
};
use ipnet::IpNet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One address that must be reached from another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AddressPair {
    pub from: AddressEnd,
    pub to: AddressEnd,
    /// Which of the subnets of their cable or plane.
    pub rail: u32,
    /// Size of the packet: the MTU that `from` has, or gets. `None` where it is not known.
    pub bytes: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct AddressEnd {
    #[serde(rename = "host")]
    pub node: String,
    pub interface: String,
    pub address: IpAddr,
}

/// By node: what its probes came to, or why it could not be asked.
pub type ProbeResultsByNode = BTreeMap<String, Result<Vec<ProbeResult>, String>>;

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct ReachabilityProof {
    pub pairs: Vec<JudgedPair>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JudgedPair {
    #[serde(flatten)]
    pub pair: AddressPair,
    #[serde(flatten)]
    pub outcome: ReachabilityOutcome,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum ReachabilityOutcome {
    Answered {
        /// The answer's MAC address is that of the port; `false` where one of the two is not known.
        mac_checked: bool,
    },
    NoAnswer {
        why: String,
    },
    /// It answers smaller packets alone.
    TooLarge {
        /// The largest that was tried and answered.
        answered_bytes: u32,
        /// The cable, if it is one: `cable 1 (spark-a:p0 – spark-b:p0)`.
        cable: Option<String>,
    },
    /// It answered at the MAC address of another port.
    OtherPort {
        #[schemars(with = "String")]
        expected: HardwareAddress,
        #[schemars(with = "String")]
        found: HardwareAddress,
        /// Whose it is, if it is one of the same node.
        interface: Option<String>,
    },
}

impl ReachabilityOutcome {
    pub fn is_good(&self) -> bool {
        matches!(self, Self::Answered { .. })
    }
}

impl ReachabilityProof {
    /// Nothing speaks against it. Where no two addresses share a subnet, that is not much.
    pub fn holds(&self) -> bool {
        self.pairs.iter().all(|judged| judged.outcome.is_good())
    }
}

impl JudgedPair {
    fn is_silent(&self) -> bool {
        matches!(self.outcome, ReachabilityOutcome::NoAnswer { .. })
    }
}

impl AddressPair {
    pub fn probe(&self) -> ReachabilityProbe {
        self.sized(self.bytes)
    }

    fn sized(&self, bytes: Option<u32>) -> ReachabilityProbe {
        ReachabilityProbe::Ping {
            address: self.to.address,
            interface: Some(self.from.interface.clone()),
            bytes,
        }
    }

    /// The largest first.
    fn smaller(&self) -> impl Iterator<Item = ReachabilityProbe> {
        let sizes = SMALLER.into_iter();
        let smaller = sizes.filter(|size| self.bytes.is_some_and(|bytes| *size < bytes));
        smaller.map(|size| self.sized(Some(size)))
    }
}

/// Each address with each other of its subnet that is on another node, both ways, in the plan's order of nodes.
pub fn pairs(plan: &ClusterPlan, facts: &[Facts]) -> Vec<AddressPair> {
    let facts = by_name(facts);
    let mut subnets: BTreeMap<IpNet, Vec<(&NodePlan, &FabricAddress)>> = BTreeMap::new();
    for node in &plan.nodes {
        for own in &node.addresses {
            let members = subnets.entry(own.address.trunc()).or_default();
            members.push((node, own));
        }
    }
    let of_address = |node: &NodePlan, own: &FabricAddress| {
        let read = facts.get(node.node.as_str()).copied();
        let bytes = mtu(node, read, &own.interface);
        let members = subnets.get(&own.address.trunc()).into_iter().flatten();
        members
            .filter(|(other, _)| other.node != node.node)
            .map(|(other, theirs)| AddressPair {
                from: end(node, own),
                to: end(other, theirs),
                rail: own.rail,
                bytes,
            })
            .collect::<Vec<AddressPair>>()
    };
    let nodes = plan.nodes.iter();
    nodes
        .flat_map(|node| node.addresses.iter().map(move |own| (node, own)))
        .flat_map(|(node, own)| of_address(node, own))
        .collect()
}

/// What one node is asked to do of it.
pub fn probes(pairs: &[AddressPair], node: &str) -> Vec<ReachabilityProbe> {
    let own = pairs.iter().filter(|pair| pair.from.node == node);
    own.map(AddressPair::probe).collect()
}

/// Sizes that are tried where the full one is not answered: below jumbo frames, RDMA's next path MTU, Ethernet's, and the
/// least that every host takes.
const SMALLER: [u32; 4] = [4200, 2200, 1500, 576];

/// What one node is asked, to tell a path that is too narrow from one that is dead.
pub fn smaller_probes(proof: &ReachabilityProof, node: &str) -> Vec<ReachabilityProbe> {
    let silent = proof.pairs.iter().filter(|judged| judged.is_silent());
    let own = silent.filter(|judged| judged.pair.from.node == node);
    own.flat_map(|judged| judged.pair.smaller()).collect()
}

/// The same proof, with what smaller packets told.
pub fn with_smaller(
    mut proof: ReachabilityProof,
    answers: &ProbeResultsByNode,
    cable: impl Fn(&AddressPair) -> Option<String>,
) -> ReachabilityProof {
    for judged in proof.pairs.iter_mut().filter(|judged| judged.is_silent()) {
        let Some(Ok(answers)) = answers.get(&judged.pair.from.node) else {
            continue;
        };
        let is_answered = |probe: &ReachabilityProbe| {
            let mut answers = answers.iter();
            answers.any(|answer| answer.probe == *probe && answer.problem.is_none())
        };
        let largest = judged.pair.smaller().find(is_answered);
        if let Some(ReachabilityProbe::Ping {
            bytes: Some(answered_bytes),
            ..
        }) = largest
        {
            judged.outcome = ReachabilityOutcome::TooLarge {
                answered_bytes,
                cable: cable(&judged.pair),
            };
        }
    }
    proof
}

pub fn judge_pairs(
    pairs: Vec<AddressPair>,
    facts: &[Facts],
    answers: &ProbeResultsByNode,
) -> ReachabilityProof {
    let facts = by_name(facts);
    let mut probed: HashMap<(&str, IpAddr, &str), &ProbeResult> = HashMap::new();
    for (node, answer) in answers {
        for answer in answer.iter().flatten() {
            if let ReachabilityProbe::Ping {
                address,
                interface: Some(interface),
                ..
            } = &answer.probe
            {
                probed.insert((node, *address, interface), answer);
            }
        }
    }
    let outcome = |pair: &AddressPair| {
        let key = (
            pair.from.node.as_str(),
            pair.to.address,
            pair.from.interface.as_str(),
        );
        let answer = probed
            .get(&key)
            .filter(|answer| answer.probe == pair.probe());
        match (answer, answers.get(&pair.from.node)) {
            (Some(answer), _) => of_answer(answer, facts.get(pair.to.node.as_str()), &pair.to),
            (None, Some(Err(why))) => ReachabilityOutcome::NoAnswer {
                why: format!("{} could not be asked: {why}", pair.from.node),
            },
            (None, _) => ReachabilityOutcome::NoAnswer {
                why: format!("{} was not asked", pair.from.node),
            },
        }
    };
    let judged = pairs.into_iter().map(|pair| JudgedPair {
        outcome: outcome(&pair),
        pair,
    });
    ReachabilityProof {
        pairs: judged.collect(),
    }
}

fn of_answer(answer: &ProbeResult, there: Option<&&Facts>, to: &AddressEnd) -> ReachabilityOutcome {
    let expected = there
        .and_then(|facts| facts.network.interface(&to.interface))
        .and_then(|interface| interface.mac.known());
    let differs = expected
        .zip(answer.neighbour.as_ref())
        .filter(|(expected, found)| expected != found);
    match (&answer.problem, differs) {
        (Some(why), None) => ReachabilityOutcome::NoAnswer { why: why.clone() },
        (Some(why), Some((expected, found))) => ReachabilityOutcome::NoAnswer {
            why: format!("{why}; it was sought at {found}, and its port is {expected}"),
        },
        (None, None) => ReachabilityOutcome::Answered {
            mac_checked: expected.is_some() && answer.neighbour.is_some(),
        },
        (None, Some((expected, found))) => {
            let interfaces = there
                .into_iter()
                .flat_map(|facts| &facts.network.interfaces);
            let mut owners = interfaces.filter(|owner| owner.mac.known() == Some(found));
            ReachabilityOutcome::OtherPort {
                expected: expected.clone(),
                found: found.clone(),
                interface: owners.next().map(|owner| owner.name.clone()),
            }
        }
    }
}

fn by_name(facts: &[Facts]) -> HashMap<&str, &Facts> {
    let named = facts.iter().map(|facts| (facts.host.name.as_str(), facts));
    named.collect()
}

fn end(node: &NodePlan, own: &FabricAddress) -> AddressEnd {
    AddressEnd {
        node: node.node.clone(),
        interface: own.interface.clone(),
        address: own.address.addr(),
    }
}

/// As planned, else as it is: a plan says nothing of what needs no change.
fn mtu(node: &NodePlan, facts: Option<&Facts>, interface: &str) -> Option<u32> {
    let mut configured = node.steps.iter().flat_map(PlanStep::interface_changes);
    let planned = configured.find(|change| change.name == interface);
    let planned = planned.and_then(|change| change.mtu.to);
    let found = || facts?.network.interface(interface)?.mtu.known().copied();
    planned.or_else(found).map(|mtu| mtu.0)
}
