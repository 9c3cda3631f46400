//! What a cluster file says that cannot be meant.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    net::IpAddr,
};

use ipnet::IpNet;
use thiserror::Error;

use super::{ClusterSpec, NodeSpec, PortMatch};
use crate::Cable;

/// Where in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SpecLocation {
    File,
    Fabric,
    Qos,
    /// Counted from 0, as the others.
    Node(usize),
    Cable(usize),
    Plane(usize),
}

impl SpecLocation {
    /// The line of its heading, counted from 1.
    pub fn line(self, text: &str) -> Option<usize> {
        let (heading, index) = match self {
            Self::File => return None,
            Self::Fabric => ("[fabric]", 0),
            Self::Qos => ("[qos]", 0),
            Self::Node(index) => ("[[node]]", index),
            Self::Cable(index) => ("[[cable]]", index),
            Self::Plane(index) => ("[[plane]]", index),
        };
        let is_heading = |line: &str| {
            let line = line.split('#').next().unwrap_or("");
            line.split_whitespace().collect::<String>() == heading
        };
        let mut headings = (1..).zip(text.lines()).filter(|(_, line)| is_heading(line));
        headings.nth(index).map(|(number, _)| number)
    }
}

impl fmt::Display for SpecLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File => f.write_str("the file"),
            Self::Fabric => f.write_str("[fabric]"),
            Self::Qos => f.write_str("[qos]"),
            Self::Node(index) => write!(f, "[[node]] {}", index + 1),
            Self::Cable(index) => write!(f, "[[cable]] {}", index + 1),
            Self::Plane(index) => write!(f, "[[plane]] {}", index + 1),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{place}: {problem}")]
pub struct SpecFault {
    pub place: SpecLocation,
    pub problem: SpecProblem,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SpecProblem {
    #[error("'{0}' is no host name")]
    NotAHostName(String),
    #[error("'{0}' holds characters that no name here may hold, or is longer than 64")]
    BadName(String),
    #[error("node '{0}' is there twice")]
    NodeTwice(String),
    #[error("there is no node '{node}'{}", near(.known.as_ref()))]
    UnknownNode { node: String, known: Option<String> },
    #[error("{0} is in two cables; a cage takes one")]
    EndTwice(String),
    #[error("both ends are {0}")]
    SameEnd(String),
    #[error("number {number} is that of {other} too; every one has its own")]
    NumberTwice { number: u32, other: SpecLocation },
    #[error("numbers of nodes begin with 1: an address that ends in 0 is its subnet's")]
    NumberZero,
    #[error("cage '{cage}' lists {port} twice; the second was to be its twin")]
    PortTwice { cage: String, port: String },
    #[error("{port} is in two cages, '{cage}' and '{other}'; a port has one")]
    PortInTwoCages {
        port: String,
        cage: String,
        other: String,
    },
    #[error("no cable goes to plane '{0}'")]
    UnusedPlane(String),
    #[error("plane '{0}' is there twice")]
    PlaneTwice(String),
    #[error("`mtu` is {0}; between 1280 and 65535 is possible")]
    Mtu(u32),
    #[error("`subnet_prefix` is {prefix}; between {least} (the pool's own) and {most} is possible")]
    Prefix { prefix: u8, least: u8, most: u8 },
    #[error(
        "the pool {0} holds addresses that no port can have; choose another `pool`, such as \"10.77.0.0/16\""
    )]
    UnusablePool(IpNet),
    #[error("`pool` is missing: the network that subnets are cut from, such as \"10.77.0.0/16\"")]
    NoPool,
    #[error(
        "the pool {pool} is too small: {what} needs subnet {needed} of /{prefix}, and there are {have}{}; choose a larger `pool` \
         or a longer `subnet_prefix`",
        if *.planes > 0 { " (planes take theirs from the end)" } else { "" }
    )]
    PoolTooSmall {
        pool: IpNet,
        what: String,
        prefix: u8,
        needed: u128,
        have: u128,
        planes: usize,
    },
    #[error(
        "number {number} does not fit into a subnet of /{prefix}; choose a shorter `subnet_prefix`"
    )]
    NumberTooLarge { number: u32, prefix: u8 },
    #[error("{node} has {found} cages on plane '{plane}', and {most} are the most")]
    TooManyCages {
        node: String,
        plane: String,
        found: usize,
        most: usize,
    },
    #[error("`priority` is {0}; 0 to 7 are possible")]
    Priority(u8),
    #[error("`dscp` is {0}; 0 to 63 are possible")]
    Dscp(u8),
}

fn near(known: Option<&String>) -> String {
    known.map_or_else(String::new, |name| format!("; did you mean '{name}'?"))
}

impl ClusterSpec {
    /// Everything that is wrong with it, in the order of the file.
    pub fn check(&self) -> Vec<SpecFault> {
        let mut faults = Faults(Vec::new());
        if !is_name(&self.name) {
            faults.add(SpecLocation::File, SpecProblem::BadName(self.name.clone()));
        }
        self.check_fabric(&mut faults);
        self.check_nodes(&mut faults);
        self.check_ends(&mut faults);
        self.check_planes(&mut faults);
        let mut faults = faults.0;
        faults.sort_by_key(|fault| fault.place);
        faults
    }

    fn check_fabric(&self, faults: &mut Faults) {
        let fabric = &self.fabric;
        if let Some(mtu) = fabric.mtu.filter(|mtu| !(1280..=65535).contains(&mtu.0)) {
            faults.add(SpecLocation::Fabric, SpecProblem::Mtu(mtu.0));
        }
        if let Some(pool) = fabric.pool.filter(|pool| !is_usable(*pool)) {
            faults.add(SpecLocation::Fabric, SpecProblem::UnusablePool(pool));
        }
        if let (Some(pool), Some(prefix)) = (fabric.pool, fabric.subnet_prefix) {
            // Two addresses are the least of use, besides the subnet's own and its broadcast.
            let (least, most) = (pool.prefix_len(), pool.max_prefix_len() - 2);
            if !(least..=most).contains(&prefix) {
                faults.add(
                    SpecLocation::Fabric,
                    SpecProblem::Prefix {
                        prefix,
                        least,
                        most,
                    },
                );
            }
        }
        if let Some(qos) = &self.qos {
            if qos.priority > 7 {
                faults.add(SpecLocation::Qos, SpecProblem::Priority(qos.priority));
            }
            if qos.dscp > 63 {
                faults.add(SpecLocation::Qos, SpecProblem::Dscp(qos.dscp));
            }
        }
    }

    fn check_nodes(&self, faults: &mut Faults) {
        let mut names = BTreeSet::new();
        for (index, node) in self.nodes.iter().enumerate() {
            let place = SpecLocation::Node(index);
            if !is_host_name(&node.name) {
                faults.add(place, SpecProblem::NotAHostName(node.name.clone()));
            }
            if !names.insert(&node.name) {
                faults.add(place, SpecProblem::NodeTwice(node.name.clone()));
            }
            for cage in node.cages.iter().filter(|cage| !is_name(&cage.id)) {
                faults.add(place, SpecProblem::BadName(cage.id.clone()));
            }
            ports_once(place, node, faults);
        }
        let numbers = self.nodes.iter().enumerate();
        let numbers =
            numbers.map(|(index, node)| (SpecLocation::Node(index), node.number_at(index)));
        faults.numbers(numbers);
        for (index, node) in self.nodes.iter().enumerate() {
            if node.number == Some(0) {
                faults.add(SpecLocation::Node(index), SpecProblem::NumberZero);
            }
        }
    }

    fn check_ends(&self, faults: &mut Faults) {
        let names: BTreeSet<&str> = self.nodes.iter().map(|node| node.name.as_str()).collect();
        let mut ends = BTreeSet::new();
        for (index, cable) in self.cables.iter().enumerate() {
            let place = SpecLocation::Cable(index);
            if let Cable::Direct { a, b, number: _ } = cable
                && a == b
            {
                faults.add(place, SpecProblem::SameEnd(a.to_string()));
                continue;
            }
            for end in cable.ends() {
                if !names.contains(end.node.as_str()) {
                    let known = super::nearest(&end.node, names.iter().copied());
                    let problem = SpecProblem::UnknownNode {
                        node: end.node.clone(),
                        known: known.map(str::to_owned),
                    };
                    faults.add(place, problem);
                }
                if !is_name(&end.cage) {
                    faults.add(place, SpecProblem::BadName(end.cage.clone()));
                }
                if !ends.insert(end) {
                    faults.add(place, SpecProblem::EndTwice(end.to_string()));
                }
            }
        }
        let direct = self
            .direct_cables()
            .map(|(index, number, ..)| (SpecLocation::Cable(index), number));
        faults.numbers(direct);
    }

    fn check_planes(&self, faults: &mut Faults) {
        let mut names = BTreeSet::new();
        for (index, cable) in self.cables.iter().enumerate() {
            if let Cable::Switched { plane, .. } = cable
                && names.insert(plane)
                && !is_name(plane)
            {
                faults.add(
                    SpecLocation::Cable(index),
                    SpecProblem::BadName(plane.clone()),
                );
            }
        }
        let mut declared = BTreeSet::new();
        for (index, plane) in self.planes.iter().enumerate() {
            if !names.contains(&plane.name) {
                let problem = SpecProblem::UnusedPlane(plane.name.clone());
                faults.add(SpecLocation::Plane(index), problem);
            }
            if !declared.insert(&plane.name) {
                let problem = SpecProblem::PlaneTwice(plane.name.clone());
                faults.add(SpecLocation::Plane(index), problem);
            }
        }
        let places = self.plane_numbers().into_iter().map(|(name, number)| {
            let declared = self.planes.iter().position(|plane| plane.name == name);
            let joined =
                |cable: &Cable| matches!(cable, Cable::Switched { plane, .. } if plane == name);
            let used = || self.cables.iter().position(joined);
            let place = declared
                .map(SpecLocation::Plane)
                .or_else(|| used().map(SpecLocation::Cable));
            (place.unwrap_or(SpecLocation::File), number)
        });
        faults.numbers(places);
    }
}

struct Faults(Vec<SpecFault>);

impl Faults {
    fn add(&mut self, place: SpecLocation, problem: SpecProblem) {
        self.0.push(SpecFault { place, problem });
    }

    fn numbers(&mut self, numbers: impl Iterator<Item = (SpecLocation, u32)>) {
        let mut seen: BTreeMap<u32, SpecLocation> = BTreeMap::new();
        for (place, number) in numbers {
            match seen.get(&number) {
                Some(other) => {
                    let other = *other;
                    self.add(place, SpecProblem::NumberTwice { number, other });
                }
                None => {
                    seen.insert(number, place);
                }
            }
        }
    }
}

/// The second mention of a port would be without effect, and whichever was meant instead would be left out.
fn ports_once(place: SpecLocation, node: &NodeSpec, faults: &mut Faults) {
    let mut seen: Vec<(&PortMatch, &str)> = Vec::new();
    for cage in &node.cages {
        for port in &cage.ports {
            match seen.iter().find(|(other, _)| *other == port) {
                Some((_, other)) if *other == cage.id => {
                    let (cage, port) = (cage.id.clone(), port.to_string());
                    faults.add(place, SpecProblem::PortTwice { cage, port });
                }
                Some((_, other)) => {
                    let problem = SpecProblem::PortInTwoCages {
                        port: port.to_string(),
                        cage: (*other).to_owned(),
                        other: cage.id.clone(),
                    };
                    faults.add(place, problem);
                }
                None => seen.push((port, &cage.id)),
            }
        }
    }
}

/// Letters, digits, hyphens, underscores and dots, as far as people's machines are called; or an address.
pub(crate) fn is_host_name(name: &str) -> bool {
    let label = |label: &str| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        !label.is_empty()
            && label.len() <= 63
            && label.bytes().all(plain)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    name.parse::<IpAddr>().is_ok() || (name.len() <= 253 && name.split('.').all(label))
}

/// A name that people give to cages, planes and the cluster itself.
fn is_name(name: &str) -> bool {
    let length = name.chars().count();
    (1..=64).contains(&length)
        && !name
            .chars()
            .any(|c| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}'))
}

/// Neither multicast nor loopback, nothing reserved, and not the network that stands for none.
fn is_usable(pool: IpNet) -> bool {
    let ends = [pool.network(), pool.broadcast()];
    ends.iter().all(|end| match end {
        IpAddr::V4(address) => !address.is_loopback() && (1..224).contains(&address.octets()[0]),
        IpAddr::V6(address) => {
            !address.is_multicast() && !address.is_loopback() && !address.is_unspecified()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(body: &str) -> Vec<String> {
        let text = format!("format = 1\nname = 'x'\n{body}");
        let spec = ClusterSpec::from_toml(&text).unwrap();
        let line = |fault: &SpecFault| fault.place.line(&text).unwrap_or(0);
        let faults = spec.check();
        faults
            .iter()
            .map(|fault| format!("{}: {fault}", line(fault)))
            .collect()
    }

    #[test]
    fn a_pool_has_addresses_that_a_port_can_have() {
        for (pool, usable) in [
            ("10.77.0.0/16", true),
            ("192.168.177.0/24", true),
            ("fd00:77::/48", true),
            ("224.0.0.0/8", false),
            ("127.0.0.0/8", false),
            ("240.0.0.0/4", false),
            ("0.0.0.0/0", false),
            ("ff00::/8", false),
        ] {
            assert_eq!(is_usable(pool.parse().unwrap()), usable, "{pool}");
        }
    }

    #[test]
    fn a_sound_file_has_no_faults() {
        let body = "[fabric]\npool = '10.0.0.0/16'\nmtu = 9000\n[[node]]\nname = 'a'\n[[node]]\nname = 'b.lab'\n[[cable]]\na = 'a:p0'\nb = 'b.lab:p0'\n[[cable]]\nport = 'a:p1'\nplane = 's'\n[[plane]]\nname = 's'\nnumber = 3\n";
        assert!(problems(body).is_empty(), "{:?}", problems(body));
    }

    #[test]
    fn each_fault_is_named_with_its_line() {
        let cases = [
            (
                "[[node]]\nname = 'a b'",
                "3: [[node]] 1: 'a b' is no host name",
            ),
            (
                "[[node]]\nname = 'a'\n[[node]]\nname = 'a'",
                "5: [[node]] 2: node 'a' is there twice",
            ),
            (
                "[[node]]\nname = 'spark-a'\n[[cable]]\nport = 'spark-b:p0'\nplane = 's'",
                "5: [[cable]] 1: there is no node 'spark-b'; did you mean 'spark-a'?",
            ),
            (
                "[[node]]\nname = 'a'\n[[cable]]\nport = 'a:p0'\nplane = 's'\n[[cable]]\nport = 'a:p0'\nplane = 't'",
                "8: [[cable]] 2: a:p0 is in two cables; a cage takes one",
            ),
            (
                "[[node]]\nname = 'a'\n[[cable]]\na = 'a:p0'\nb = 'a:p0'",
                "5: [[cable]] 1: both ends are a:p0",
            ),
            (
                "[[node]]\nname = 'a'\nnumber = 2\n[[node]]\nname = 'b'",
                "6: [[node]] 2: number 2 is that of [[node]] 1 too; every one has its own",
            ),
            (
                "[[node]]\nname = 'a'\nnumber = 0",
                "3: [[node]] 1: numbers of nodes begin with 1: an address that ends in 0 is its subnet's",
            ),
            (
                "[fabric]\nmtu = 100",
                "3: [fabric]: `mtu` is 100; between 1280 and 65535 is possible",
            ),
            (
                "[qos]\npriority = 9\ndscp = 26",
                "3: [qos]: `priority` is 9; 0 to 7 are possible",
            ),
            (
                "[fabric]\npool = '10.0.0.0/24'\nsubnet_prefix = 16",
                "3: [fabric]: `subnet_prefix` is 16; between 24 (the pool's own) and 30 is possible",
            ),
            (
                "[[plane]]\nname = 's'\nnumber = 0",
                "3: [[plane]] 1: no cable goes to plane 's'",
            ),
        ];
        for (body, expected) in cases {
            assert_eq!(problems(body), [expected], "{body}");
        }
    }
}
