//! What an engine is asked to do.

use std::{net::IpAddr, time::Duration};

use crosstie_model::Mtu;
use crosstie_verbs::{PathOptions, QueuePairOptions};
use serde::{Deserialize, Serialize};

use crate::error::RequestError;

/// Both ends get the same, but for device, address and role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenRequest {
    pub device: String,
    pub port: u8,
    /// By which the peer reaches this port; RoCE alone needs it.
    pub address: Option<IpAddr>,
    /// Of the port's interface; RoCE derives its path MTU from it.
    pub interface_mtu: Option<Mtu>,
    pub role: Role,
    pub test: Test,
    /// Latency uses one.
    pub queue_pairs: u16,
    /// Bytes of a message.
    pub size: u32,
    /// Messages under way on a queue pair; a power of two, as the next two.
    pub depth: u32,
    /// Work requests that are posted with one call.
    pub list: u32,
    /// One of how many makes a completion.
    pub signal_every: u32,
    pub relaxed_ordering: bool,
    pub path: PathRequest,
    pub times: Times,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Sends, and measures.
    Initiator,
    /// Is sent to, or answers.
    Responder,
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
    /// The initiator writes to the responder's memory.
    Write,
    /// The initiator reads from it.
    Read,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathRequest {
    /// 4.096 µs · 2^this until a packet is sent again.
    pub timeout: u8,
    pub retry_count: u8,
    pub service_level: u8,
    pub traffic_class: u8,
}

/// In milliseconds. What happens in the first and the last is not measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Times {
    pub warm_up: u32,
    pub measure: u32,
    /// While the other pairs of a run still measure.
    pub cool_down: u32,
    /// Without any completion, the peer is taken to be gone.
    pub silence: u32,
}

/// Beyond this, completions are so few that each is signalled; fewer would make the count coarse. perftest's limit.
const SIGNAL_ALL_ABOVE: u32 = 8 * 1024;
/// Bytes that are copied into the request at most: perftest's number.
const INLINE_WRITE: u32 = 220;

impl OpenRequest {
    /// One of how many requests of this size should make a completion.
    pub fn usual_signal_every(size: u32, depth: u32) -> u32 {
        if size > SIGNAL_ALL_ABOVE {
            1
        } else {
            (depth / 2).clamp(1, 64)
        }
    }

    pub(crate) fn check(&self) -> Result<(), RequestError> {
        let powers = [
            ("depth", self.depth),
            ("list", self.list),
            ("signal_every", self.signal_every),
        ];
        for (what, value) in powers {
            if !value.is_power_of_two() || value > self.depth {
                return Err(RequestError::NoPower {
                    what,
                    value,
                    depth: self.depth,
                });
            }
        }
        let positive = [
            ("queue_pairs", u32::from(self.queue_pairs)),
            ("size", self.size),
            ("measure", self.times.measure),
            ("silence", self.times.silence),
        ];
        for (what, value) in positive {
            if value == 0 {
                return Err(RequestError::Zero { what });
            }
        }
        if self.test == Test::Latency && (self.queue_pairs != 1 || self.list != 1) {
            return Err(RequestError::Latency {
                queue_pairs: self.queue_pairs,
                list: self.list,
            });
        }
        Ok(())
    }

    pub(crate) fn queue_pair_options(&self, receive_depth: u32) -> QueuePairOptions {
        QueuePairOptions {
            send_depth: self.depth,
            receive_depth,
            inline_bytes: if self.is_inline(INLINE_WRITE) {
                INLINE_WRITE
            } else {
                0
            },
        }
    }

    /// Short messages are copied into their request, which saves the device a read of memory.
    pub(crate) fn is_inline(&self, allowed: u32) -> bool {
        let reads = self.test
            == Test::Bandwidth {
                direction: Direction::Read,
            };
        self.size <= allowed.min(INLINE_WRITE) && !reads
    }

    pub(crate) fn path(&self, reads: u8) -> PathOptions {
        PathOptions {
            timeout: self.path.timeout,
            retry_count: self.path.retry_count,
            service_level: self.path.service_level,
            traffic_class: self.path.traffic_class,
            reads,
        }
    }
}

impl Times {
    pub(crate) fn silence(&self) -> Duration {
        Duration::from_millis(self.silence.into())
    }
}

pub(crate) const fn nanoseconds(milliseconds: u32) -> u64 {
    milliseconds as u64 * 1_000_000
}
