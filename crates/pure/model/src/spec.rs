//! The cluster as its owner wants it: `cluster.toml`.

mod check;

use std::{collections::BTreeSet, fmt};

use ipnet::IpNet;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use thiserror::Error;

pub use check::{SpecFault, SpecLocation, SpecProblem};

use crate::{Cable, Gbps, Guid, HardwareAddress, Mtu, PortRef};

/// Version of the file format that this build reads and writes.
pub const FORMAT: u32 = 1;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClusterSpec {
    /// The version of this file's format.
    pub format: u32,
    /// The cluster's name.
    pub name: String,
    #[serde(default)]
    pub fabric: FabricSpec,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub qos: Option<QosSpec>,
    #[serde(default, rename = "node")]
    pub nodes: Vec<NodeSpec>,
    #[serde(default, rename = "cable")]
    pub cables: Vec<Cable>,
    #[serde(default, rename = "plane", skip_serializing_if = "Vec::is_empty")]
    pub planes: Vec<PlaneSpec>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FabricSpec {
    /// Of every fabric interface.
    #[schemars(with = "Option<u32>")]
    pub mtu: Option<Mtu>,
    /// Subnets for cables and twins are cut from here.
    #[serde(deserialize_with = "network")]
    #[schemars(with = "Option<String>")]
    pub pool: Option<IpNet>,
    /// Prefix length of each subnet; 24 when left out.
    pub subnet_prefix: Option<u8>,
    /// What every fabric port should run at.
    #[schemars(with = "Option<f64>")]
    pub rate_gbps: Option<Gbps>,
    /// Which twins of a cage get an address.
    pub twin_addresses: TwinAddresses,
    /// Take ports down that no cable is in.
    pub unused_ports_down: bool,
}

fn network<'de, D: Deserializer<'de>>(from: D) -> Result<Option<IpNet>, D::Error> {
    let text = String::deserialize(from)?;
    let parsed = text.parse().map(Some);
    parsed.map_err(|_| D::Error::custom("want ADDRESS/PREFIX, such as 10.77.0.0/16"))
}

/// Which twins of a cage get an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TwinAddresses {
    #[default]
    All,
    First,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QosSpec {
    /// The 802.1p priority that carries RDMA and is made lossless.
    pub priority: u8,
    pub dscp: u8,
    #[serde(default)]
    pub ecn: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeSpec {
    /// The node's own host name.
    pub name: String,
    /// Its part of an address on a switch plane. It stays when other nodes come and go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u32>,
    /// OpenSSH destination; the node's name when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ssh: Option<String>,
    #[serde(default, rename = "cage", skip_serializing_if = "Vec::is_empty")]
    pub cages: Vec<CageSpec>,
}

/// A switch, or the switches that are joined. Only needed to hold on to its subnets when other planes come and go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlaneSpec {
    pub name: String,
    /// Which of the pool's subnets are its own, counted from the pool's end.
    pub number: u32,
}

/// An explicit grouping of ports into one cage. It wins over what the driver reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CageSpec {
    pub id: String,
    pub ports: Vec<PortMatch>,
}

/// How a cluster file points at a port: by what stays, with the name as a label for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, deny_unknown_fields)]
pub enum PortMatch {
    /// A bare string is the RDMA device's present name.
    Name(String),
    Guid {
        #[schemars(with = "String")]
        guid: Guid,
    },
    Mac {
        #[schemars(with = "String")]
        mac: HardwareAddress,
    },
}

impl fmt::Display for PortMatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write!(formatter, "'{name}'"),
            Self::Guid { guid } => write!(formatter, "GUID {guid}"),
            Self::Mac { mac } => write!(formatter, "MAC {mac}"),
        }
    }
}

impl NodeSpec {
    /// Its own number, or else its place in the file, counted from 1.
    pub fn number_at(&self, index: usize) -> u32 {
        let place = u32::try_from(index).unwrap_or(u32::MAX);
        self.number.unwrap_or(place.saturating_add(1))
    }
}

#[derive(Debug, Error)]
pub enum SpecError {
    #[error("the cluster file is not valid{}", suggestion(.0.message()))]
    Parse(#[source] toml::de::Error),
    #[error("the cluster file has format {found}; this build reads format {FORMAT}")]
    Format { found: u32 },
    #[error(
        "{0:?} cannot be a cluster's name: it names a folder, so it has 1 to 64 characters, all printable, holds no '/' and is neither '.' nor '..'"
    )]
    Name(String),
}

/// What is known of a cluster lies in a folder of its name, and files and journals name it.
pub fn is_cluster_name(name: &str) -> bool {
    const MAX_NAME_CHARACTERS: usize = 64;
    !matches!(name, "" | "." | "..")
        && name.chars().count() <= MAX_NAME_CHARACTERS
        && !name
            .chars()
            .any(|letter| letter == '/' || letter.is_control())
}

/// ``; did you mean `mtu`?`` where the parser names an unknown key and the keys that it knows.
fn suggestion(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let Some(unknown) = quoted
        .next()
        .filter(|_| message.starts_with("unknown field"))
    else {
        return String::new();
    };
    nearest(unknown, quoted).map_or_else(String::new, |known| format!("; did you mean `{known}`?"))
}

/// The one that was probably meant.
/// The one that was most likely meant.
pub fn nearest<'a>(unknown: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .map(|known| (distance(unknown, known), known))
        .filter(|(distance, known)| *distance <= known.len().div_ceil(3))
        .min()
        .map(|(_, known)| known)
}

/// Levenshtein's: how many letters to add, take away or change.
pub fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().take(64).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let change = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

impl ClusterSpec {
    pub fn from_toml(text: &str) -> Result<Self, SpecError> {
        let spec: Self = toml::from_str(text).map_err(SpecError::Parse)?;
        if spec.format != FORMAT {
            return Err(SpecError::Format { found: spec.format });
        }
        if !is_cluster_name(&spec.name) {
            return Err(SpecError::Name(spec.name));
        }
        Ok(spec)
    }

    /// Cables between two cages: place in the file, number, and the ends. A cable without a number has its place among
    /// them.
    pub fn direct_cables(&self) -> impl Iterator<Item = (usize, u32, &PortRef, &PortRef)> {
        let direct = self.cables.iter().enumerate();
        let direct = direct.filter_map(|(index, cable)| match cable {
            Cable::Direct { a, b, number } => Some((index, number, a, b)),
            Cable::Switched { .. } => None,
        });
        (0..)
            .zip(direct)
            .map(|(position, (index, number, a, b))| (index, number.unwrap_or(position), a, b))
    }

    /// Planes and their numbers. One without a number has its place among all, in the order of the cables.
    pub fn plane_numbers(&self) -> Vec<(&str, u32)> {
        let mut names: Vec<&str> = Vec::new();
        let mut seen = BTreeSet::new();
        for cable in &self.cables {
            if let Cable::Switched { plane, .. } = cable
                && seen.insert(plane)
            {
                names.push(plane);
            }
        }
        let declared = |name: &str| self.planes.iter().find(|plane| plane.name == name);
        (0..)
            .zip(names)
            .map(|(position, name)| (name, declared(name).map_or(position, |plane| plane.number)))
            .collect()
    }

    pub fn node(&self, name: &str) -> Option<&NodeSpec> {
        self.nodes.iter().find(|node| node.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: &str = r#"
        format = 1
        name = "sparks"
        [fabric]
        mtu = 9000
        pool = "10.77.0.0/16"
        [[node]]
        name = "spark-a"
        [[node.cage]]
        id = "p1"
        ports = ["rocep1s0f1", { guid = "4e10:20ff:fe30:0b17" }]
        [[cable]]
        a = "spark-a:p1"
        b = "spark-b:p1"
        [[cable]]
        port = "spark-a:p0"
        plane = "leaf-1"
    "#;

    #[test]
    fn a_cluster_file_survives_a_round_trip() {
        let spec = ClusterSpec::from_toml(SAMPLE).unwrap();
        assert_eq!(spec.cables.len(), 2);
        assert_eq!(spec.cables[0].ends().count(), 2);
        let again = toml::to_string(&spec).unwrap();
        assert_eq!(ClusterSpec::from_toml(&again).unwrap(), spec);
    }

    #[test]
    fn unknown_keys_and_formats_are_refused() {
        let error =
            ClusterSpec::from_toml("format = 1\nname = 'x'\n[fabric]\nmtuu = 1").unwrap_err();
        assert!(
            error.to_string().ends_with("did you mean `mtu`?"),
            "{error}"
        );
        let error =
            ClusterSpec::from_toml("format = 1\nname = 'x'\n[[cable]]\na = 'x:p0'\nplan = 's'");
        let error = error.unwrap_err();
        assert!(
            error.to_string().ends_with("did you mean `plane`?"),
            "{error}"
        );
        assert!(matches!(
            ClusterSpec::from_toml("format = 2\nname = 'x'"),
            Err(SpecError::Format { found: 2 })
        ));
    }

    #[test]
    fn a_cluster_is_called_as_a_folder_may_be() {
        for name in ["sparks", "my lab", "büro", "a..b", "-"] {
            let text = format!("format = 1\nname = {name:?}");
            assert_eq!(ClusterSpec::from_toml(&text).unwrap().name, name);
        }
        for name in [
            "../../x",
            "/etc",
            "..",
            ".",
            "",
            "a/b",
            "x\ny",
            &"x".repeat(65),
        ] {
            let text = format!("format = 1\nname = {name:?}");
            let error = ClusterSpec::from_toml(&text).unwrap_err();
            assert!(matches!(error, SpecError::Name(_)), "{name:?}: {error}");
        }
    }
}
