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
    Facts, HardwareAddress, NodePlan, Plan, Step,
    change::{Probe, Probed},
    plan::{Configure, FabricAddress, Reread},
};
use ipnet::IpNet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One address that must be reached from another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pair {
    pub from: End,
    pub to: End,
    /// Which of the subnets of their cable or plane.
    pub rail: u32,
    /// Size of the packet: the MTU that `from` has, or gets. `None` where it is not known.
    pub bytes: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct End {
    pub node: String,
    pub interface: String,
    pub address: IpAddr,
}

/// By node: what its probes came to, or why it could not be asked.
pub type Answers = BTreeMap<String, Result<Vec<Probed>, String>>;

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Proof {
    pub pairs: Vec<Judged>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Judged {
    #[serde(flatten)]
    pub pair: Pair,
    #[serde(flatten)]
    pub outcome: Outcome,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum Outcome {
    Answered {
        /// The answer's MAC address is that of the port; `false` where one of the two is not known.
        mac_checked: bool,
    },
    NoAnswer {
        why: String,
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

impl Outcome {
    pub fn is_good(&self) -> bool {
        matches!(self, Self::Answered { .. })
    }
}

impl Proof {
    /// Nothing speaks against it. Where no two addresses share a subnet, that is not much.
    pub fn holds(&self) -> bool {
        self.pairs.iter().all(|judged| judged.outcome.is_good())
    }
}

impl Pair {
    pub fn probe(&self) -> Probe {
        Probe::Ping {
            address: self.to.address,
            interface: Some(self.from.interface.clone()),
            bytes: self.bytes,
        }
    }
}

/// Each address with each other of its subnet that is on another node, both ways, in the plan's order of nodes.
pub fn pairs(plan: &Plan, facts: &[Facts]) -> Vec<Pair> {
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
            .map(|(other, theirs)| Pair {
                from: end(node, own),
                to: end(other, theirs),
                rail: own.rail,
                bytes,
            })
            .collect::<Vec<Pair>>()
    };
    let nodes = plan.nodes.iter();
    nodes
        .flat_map(|node| node.addresses.iter().map(move |own| (node, own)))
        .flat_map(|(node, own)| of_address(node, own))
        .collect()
}

/// What one node is asked to do of it.
pub fn probes(pairs: &[Pair], node: &str) -> Vec<Probe> {
    let own = pairs.iter().filter(|pair| pair.from.node == node);
    own.map(Pair::probe).collect()
}

pub fn judge(pairs: Vec<Pair>, facts: &[Facts], answers: &Answers) -> Proof {
    let facts = by_name(facts);
    let mut probed: HashMap<(&str, IpAddr, &str), &Probed> = HashMap::new();
    for (node, answer) in answers {
        for answer in answer.iter().flatten() {
            if let Probe::Ping {
                address,
                interface: Some(interface),
                ..
            } = &answer.probe
            {
                probed.insert((node, *address, interface), answer);
            }
        }
    }
    let outcome = |pair: &Pair| {
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
            (None, Some(Err(why))) => Outcome::NoAnswer {
                why: format!("{} could not be asked: {why}", pair.from.node),
            },
            (None, _) => Outcome::NoAnswer {
                why: format!("{} was not asked", pair.from.node),
            },
        }
    };
    let judged = pairs.into_iter().map(|pair| Judged {
        outcome: outcome(&pair),
        pair,
    });
    Proof {
        pairs: judged.collect(),
    }
}

fn of_answer(answer: &Probed, there: Option<&&Facts>, to: &End) -> Outcome {
    let expected = there
        .and_then(|facts| facts.network.interface(&to.interface))
        .and_then(|interface| interface.mac.known());
    let differs = expected
        .zip(answer.neighbour.as_ref())
        .filter(|(expected, found)| expected != found);
    match (&answer.problem, differs) {
        (Some(why), None) => Outcome::NoAnswer { why: why.clone() },
        (Some(why), Some((expected, found))) => Outcome::NoAnswer {
            why: format!("{why}; it was sought at {found}, and its port is {expected}"),
        },
        (None, None) => Outcome::Answered {
            mac_checked: expected.is_some() && answer.neighbour.is_some(),
        },
        (None, Some((expected, found))) => {
            let interfaces = there
                .into_iter()
                .flat_map(|facts| &facts.network.interfaces);
            let mut owners = interfaces.filter(|owner| owner.mac.known() == Some(found));
            Outcome::OtherPort {
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

fn end(node: &NodePlan, own: &FabricAddress) -> End {
    End {
        node: node.node.clone(),
        interface: own.interface.clone(),
        address: own.address.addr(),
    }
}

/// As planned, else as it is: a plan says nothing of what needs no change.
fn mtu(node: &NodePlan, facts: Option<&Facts>, interface: &str) -> Option<u32> {
    let configured = node.steps.iter().filter_map(|step| match step {
        Step::Configure(Configure { then, .. }) => Some(then),
        _ => None,
    });
    let planned = configured.flatten().find_map(|reread| match reread {
        Reread::Interface(change) if change.name == interface => change.mtu.to,
        _ => None,
    });
    let found = || facts?.network.interface(interface)?.mtu.known().copied();
    planned.or_else(found).map(|mtu| mtu.0)
}
