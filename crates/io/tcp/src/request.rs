//! What an engine is asked to do, and what its ends tell each other.

use std::net::{IpAddr, SocketAddr};

use crosstie_figures::TestTimes;
use serde::{Deserialize, Serialize};

use crate::{error::TcpRequestError, handshake::StreamSecret};

/// Streams of one direction at most: a thread each.
const MOST_STREAMS: u16 = 128;
/// Bytes of a block, or of a message, at most.
const MOST_SIZE: u32 = 64 << 20;

/// Both ends get the same, but for address, interface and role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TcpOpenRequest {
    /// Of this end, on the fabric. Nothing is bound to any other.
    pub address: IpAddr,
    /// The interface that has it.
    pub interface: Option<String>,
    pub role: TcpRole,
    pub test: TcpTest,
    /// Of each direction; latency uses one.
    pub streams: u16,
    /// Bytes that are handed over with one call, or of a message whose latency is measured.
    pub size: u32,
    pub times: TestTimes,
}

/// Who listens has nothing to do with who sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TcpRole {
    Listener,
    /// Measures latency, too.
    Connector,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum TcpTest {
    Bandwidth {
        direction: TcpDirection,
    },
    /// A message there and one back, one after the other.
    Latency,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TcpDirection {
    ToListener,
    FromListener,
    /// As many streams each way, at once.
    Both,
}

/// What an end tells its peer, over a connection that strangers cannot read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TcpEndpoint {
    /// The only address from which streams are taken.
    pub address: IpAddr,
    /// Of the end that listens.
    pub listening: Option<TcpListenerAddress>,
    /// Why packets may leave through another interface than the asked for, where the kernel did not bind to it.
    pub unbound: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TcpListenerAddress {
    pub address: SocketAddr,
    pub secret: StreamSecret,
}

impl TcpOpenRequest {
    pub(crate) fn check(&self) -> Result<(), TcpRequestError> {
        let positive = [
            ("streams", u32::from(self.streams), u32::from(MOST_STREAMS)),
            ("size", self.size, MOST_SIZE),
            ("measure", self.times.measure, u32::MAX),
            ("silence", self.times.silence, u32::MAX),
        ];
        for (what, value, most) in positive {
            if value == 0 || value > most {
                return Err(TcpRequestError::OutOfRange { what, value, most });
            }
        }
        if self.test == TcpTest::Latency && self.streams != 1 {
            return Err(TcpRequestError::LatencyStreams(self.streams));
        }
        if self.address.is_unspecified() || self.address.is_multicast() {
            return Err(TcpRequestError::NoAddress(self.address));
        }
        Ok(())
    }

    /// Connections of the whole test.
    pub(crate) fn connections(&self) -> u16 {
        match self.test {
            TcpTest::Bandwidth {
                direction: TcpDirection::Both,
            } => 2 * self.streams,
            _ => self.streams,
        }
    }

    /// Whether this end sends on the stream of that number.
    pub(crate) fn sends(&self, stream: u16) -> bool {
        let is_connector = self.role == TcpRole::Connector;
        match self.test {
            TcpTest::Bandwidth { direction } => match direction {
                TcpDirection::ToListener => is_connector,
                TcpDirection::FromListener => !is_connector,
                TcpDirection::Both => is_connector == (stream < self.streams),
            },
            TcpTest::Latency => is_connector,
        }
    }
}
