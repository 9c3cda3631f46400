//! What a person should know of the cabling beside the cables.

use std::fmt;

use crosstie_model::PortRef;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum CablingNote {
    /// `deaf` is heard by `hears`, and hears nothing from there.
    OneWay {
        hears: PortRef,
        deaf: PortRef,
    },
    /// On one plane, and neither hears the other.
    Apart {
        a: PortRef,
        b: PortRef,
    },
    Loop {
        ports: Vec<PortRef>,
    },
    Stranger {
        port: PortRef,
        frames: u32,
    },
    Nobody {
        port: PortRef,
    },
    NoCarrier {
        port: PortRef,
    },
    Crossed {
        a: PortRef,
        b: PortRef,
    },
    /// Twins that were told by hearing alone.
    Twins {
        port: PortRef,
        devices: Vec<String>,
    },
    NotProbed {
        node: String,
        interface: String,
        why: String,
    },
    /// An earlier run had been killed; what it had changed is as it was.
    Restored {
        node: String,
        what: String,
    },
    /// The cluster file has it, and it was not found.
    Gone {
        ports: Vec<PortRef>,
        what: String,
    },
    /// It was found, and the cluster file has something else in its place.
    Contradicts {
        ports: Vec<PortRef>,
        what: String,
    },
    /// Something that was changed for listening could not be restored.
    Left {
        node: String,
        what: String,
    },
}

impl CablingNote {
    /// Its name for programs.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::OneWay { .. } => "one-way",
            Self::Apart { .. } => "apart",
            Self::Loop { .. } => "loop",
            Self::Stranger { .. } => "stranger",
            Self::Nobody { .. } => "nobody",
            Self::NoCarrier { .. } => "no-carrier",
            Self::Crossed { .. } => "crossed",
            Self::Twins { .. } => "twins-by-hearing",
            Self::NotProbed { .. } => "not-probed",
            Self::Restored { .. } => "put-back",
            Self::Gone { .. } => "gone",
            Self::Contradicts { .. } => "contradicts",
            Self::Left { .. } => "left",
        }
    }

    /// Something is wrong, or may be; the others are for the record.
    pub fn is_problem(&self) -> bool {
        !matches!(
            self,
            Self::Crossed { .. }
                | Self::Twins { .. }
                | Self::NoCarrier { .. }
                | Self::Restored { .. }
        )
    }

    pub fn ports(&self) -> Vec<&PortRef> {
        match self {
            Self::OneWay { hears: a, deaf: b } | Self::Apart { a, b } | Self::Crossed { a, b } => {
                vec![a, b]
            }
            Self::Loop { ports } | Self::Gone { ports, .. } | Self::Contradicts { ports, .. } => {
                ports.iter().collect()
            }
            Self::Stranger { port, .. }
            | Self::Nobody { port }
            | Self::NoCarrier { port }
            | Self::Twins { port, .. } => vec![port],
            Self::NotProbed { .. } | Self::Restored { .. } | Self::Left { .. } => Vec::new(),
        }
    }
}

impl fmt::Display for CablingNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OneWay { hears, deaf } => write!(
                f,
                "{hears} hears {deaf}, which hears nothing back: half of the cable or of an optic is broken, or a filter drops"
            ),
            Self::Apart { a, b } => write!(
                f,
                "{a} and {b} are on one switch and do not hear each other: a VLAN, port isolation, or loss"
            ),
            Self::Loop { ports } => write!(
                f,
                "{} hear each other: a cable from a node to itself, or a switch that no other of these nodes is on",
                list(ports)
            ),
            Self::Stranger { port, frames } => write!(
                f,
                "{port} heard {frames} frames that are not of this run: somebody else's machine is on that wire, or another run is under way"
            ),
            Self::Nobody { port } => write!(
                f,
                "{port} has a link, and none of these nodes is at its other end: a machine that was not named, or a switch alone"
            ),
            Self::NoCarrier { port } => {
                write!(
                    f,
                    "{port} has no carrier: nothing plugged in, or a dead cable"
                )
            }
            Self::Crossed { a, b } => write!(
                f,
                "{a} is cabled to {b}: crossed, which works; device names differ between the ends"
            ),
            Self::Twins { port, devices } => write!(
                f,
                "{port} is {}: the driver does not tell twins, they were found on one wire",
                devices.join(" and ")
            ),
            Self::NotProbed {
                node,
                interface,
                why,
            } => write!(f, "{node}: {interface} was left alone: {why}"),
            Self::Restored { node, what } => {
                write!(f, "{node}: an earlier run had been killed: {what}")
            }
            Self::Gone { what, .. } | Self::Contradicts { what, .. } => f.write_str(what),
            Self::Left { node, what } => write!(f, "{node}: {what}"),
        }
    }
}

fn list(ports: &[PortRef]) -> String {
    let names: Vec<String> = ports.iter().map(ToString::to_string).collect();
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}
