//! What an engine is asked to do, and what its ends tell each other.

use std::net::{IpAddr, SocketAddr};

use crosstie_figures::Times;
use serde::{Deserialize, Serialize};

use crate::{error::RequestError, handshake::Secret};

/// Streams of one direction at most: a thread each.
const MOST_STREAMS: u16 = 128;
/// Bytes of a block, or of a message, at most.
const MOST_SIZE: u32 = 64 << 20;

/// Both ends get the same, but for address, interface and role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenRequest {
    /// Of this end, on the fabric. Nothing is bound to any other.
    pub address: IpAddr,
    /// The interface that has it.
    pub interface: Option<String>,
    pub role: Role,
    pub test: Test,
    /// Of each direction; latency uses one.
    pub streams: u16,
    /// Bytes that are handed over with one call, or of a message whose latency is measured.
    pub size: u32,
    pub times: Times,
}

/// Who listens has nothing to do with who sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    Listener,
    /// Measures latency, too.
    Connector,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Test {
    Bandwidth {
        direction: Direction,
    },
    /// A message there and one back, one after the other.
    Latency,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    ToListener,
    FromListener,
    /// As many streams each way, at once.
    Both,
}

/// What an end tells its peer, over a connection that strangers cannot read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Endpoint {
    /// The only address from which streams are taken.
    pub address: IpAddr,
    /// Of the end that listens.
    pub listening: Option<Listening>,
    /// Why packets may leave through another interface than the asked for, where the kernel did not bind to it.
    pub unbound: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Listening {
    pub address: SocketAddr,
    pub secret: Secret,
}

impl OpenRequest {
    pub(crate) fn check(&self) -> Result<(), RequestError> {
        let positive = [
            ("streams", u32::from(self.streams), u32::from(MOST_STREAMS)),
            ("size", self.size, MOST_SIZE),
            ("measure", self.times.measure, u32::MAX),
            ("silence", self.times.silence, u32::MAX),
        ];
        for (what, value, most) in positive {
            if value == 0 || value > most {
                return Err(RequestError::OutOfRange { what, value, most });
            }
        }
        if self.test == Test::Latency && self.streams != 1 {
            return Err(RequestError::LatencyStreams(self.streams));
        }
        if self.address.is_unspecified() || self.address.is_multicast() {
            return Err(RequestError::NoAddress(self.address));
        }
        Ok(())
    }

    /// Connections of the whole test.
    pub(crate) fn connections(&self) -> u16 {
        match self.test {
            Test::Bandwidth {
                direction: Direction::Both,
            } => 2 * self.streams,
            _ => self.streams,
        }
    }

    /// Whether this end sends on the stream of that number.
    pub(crate) fn sends(&self, stream: u16) -> bool {
        let is_connector = self.role == Role::Connector;
        match self.test {
            Test::Bandwidth { direction } => match direction {
                Direction::ToListener => is_connector,
                Direction::FromListener => !is_connector,
                Direction::Both => is_connector == (stream < self.streams),
            },
            Test::Latency => is_connector,
        }
    }
}
