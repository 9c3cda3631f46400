//! What an engine is asked to do.

use std::{net::IpAddr, time::Duration};

use crosstie_figures::TestTimes;
use crosstie_model::Mtu;
use crosstie_verbs::{PathOptions, QueuePairOptions};
use serde::{Deserialize, Serialize};

use crate::error::RdmaRequestError;

/// Both ends get the same, but for device, address and role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RdmaOpenRequest {
    pub device: String,
    pub port: u8,
    /// By which the peer reaches this port; RoCE alone needs it.
    pub address: Option<IpAddr>,
    /// Of the port's interface; RoCE derives its path MTU from it.
    pub interface_mtu: Option<Mtu>,
    pub role: RdmaRole,
    pub test: RdmaTest,
    /// Latency uses one.
    pub queue_pairs: u16,
    /// Bytes of a message: each size in turn, as long as [`times`](Self::times) says.
    pub sizes: Vec<u32>,
    /// Messages under way on a queue pair at most; a power of two, as the next two.
    pub depth: u32,
    /// Work requests that are posted with one call.
    pub list: u32,
    /// One of how many makes a completion; what suits the size, if it is not said.
    pub signal_every: Option<u32>,
    pub relaxed_ordering: bool,
    pub path: RdmaPathRequest,
    pub times: TestTimes,
    pub share: HostResourceShare,
}

/// Which of the ends that run on this machine at once it is: each has a processor, and a share of the memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostResourceShare {
    pub index: u16,
    pub count: u16,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RdmaRole {
    /// Sends, and measures.
    Initiator,
    /// Is sent to, or answers.
    Responder,
    /// Both ends send, measure and are sent to.
    Both,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum RdmaTest {
    Bandwidth {
        transfer: BandwidthOperation,
    },
    /// A message there and one back, one after the other.
    Latency {
        message: LatencyOperation,
    },
    /// Every byte is looked at; no speed is measured.
    Verify {
        transfer: BandwidthOperation,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BandwidthOperation {
    /// The initiator writes to the responder's memory.
    Write,
    /// The initiator reads from it.
    Read,
    /// The responder says where each message is put.
    Send,
}

/// How a message of a latency test is seen to have come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LatencyOperation {
    WriteWithImmediate,
    Send,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RdmaPathRequest {
    /// 4.096 µs · 2^this until a packet is sent again.
    pub timeout: u8,
    pub retry_count: u8,
    pub service_level: u8,
    pub traffic_class: u8,
}

/// Beyond this, completions are so few that each is signalled; fewer would make the count coarse. perftest's limit.
const SIGNAL_ALL_ABOVE: u32 = 8 * 1024;
/// Bytes that are copied into the request at most: perftest's number.
const INLINE_WRITE: u32 = 220;
/// Room for a message by which an end tells the other where it is, and for one that follows a failure.
pub(crate) const SPARE_SENDS: u32 = 4;
/// Milliseconds until what is under way has arrived on a slow way.
const DRAIN: u32 = 2000;

impl RdmaOpenRequest {
    /// One of how many requests of this size should make a completion.
    pub fn usual_signal_every(size: u32, depth: u32) -> u32 {
        if size > SIGNAL_ALL_ABOVE {
            1
        } else {
            (depth / 2).clamp(1, 64)
        }
    }

    pub(crate) fn check(&self) -> Result<(), RdmaRequestError> {
        let signal_every = self.signal_every.unwrap_or(1);
        let powers = [
            ("depth", self.depth),
            ("list", self.list),
            ("signal_every", signal_every),
        ];
        for (what, value) in powers {
            if !value.is_power_of_two() || value > self.depth {
                return Err(RdmaRequestError::NoPower {
                    what,
                    value,
                    depth: self.depth,
                });
            }
        }
        let positive = [
            ("queue_pairs", u32::from(self.queue_pairs)),
            ("size", self.sizes.iter().copied().min().unwrap_or(0)),
            ("measure", self.times.measure),
            ("silence", self.times.silence),
        ];
        for (what, value) in positive {
            if value == 0 {
                return Err(RdmaRequestError::Zero { what });
            }
        }
        match self.test {
            RdmaTest::Latency { .. }
                if self.queue_pairs != 1 || self.list != 1 || self.sizes.len() != 1 =>
            {
                Err(RdmaRequestError::Latency {
                    queue_pairs: self.queue_pairs,
                    list: self.list,
                    sizes: self.sizes.len(),
                })
            }
            RdmaTest::Latency { .. } | RdmaTest::Verify { .. } if self.role == RdmaRole::Both => {
                Err(RdmaRequestError::OneInitiator)
            }
            _ => Ok(()),
        }
    }

    /// Whether the responder has to run, too: who is written to or read from needs no program.
    pub fn has_working_responder(&self) -> bool {
        !matches!(
            self.test,
            RdmaTest::Bandwidth {
                transfer: BandwidthOperation::Write | BandwidthOperation::Read
            }
        )
    }

    /// How long it takes at most until its figures are there, while the peer is heard of.
    pub fn longest(&self) -> Duration {
        let times = self.times;
        let of_size = [times.warm_up, times.measure, times.cool_down, DRAIN];
        let of_size: u64 = of_size.into_iter().map(u64::from).sum();
        // Silence before the first message, within, and after the last.
        let all = of_size * self.sizes.len() as u64 + 4 * u64::from(times.silence);
        Duration::from_millis(all)
    }

    pub(crate) fn queue_pair_options(&self, receive_depth: u32) -> QueuePairOptions {
        let shortest = self.sizes.iter().copied().min().unwrap_or(0);
        QueuePairOptions {
            send_depth: self.depth + SPARE_SENDS,
            receive_depth,
            inline_bytes: if self.is_inline(shortest, INLINE_WRITE) {
                INLINE_WRITE
            } else {
                0
            },
        }
    }

    /// Short messages are copied into their request, which saves the device a read of memory.
    pub(crate) fn is_inline(&self, size: u32, allowed: u32) -> bool {
        let reads = matches!(
            self.test,
            RdmaTest::Bandwidth {
                transfer: BandwidthOperation::Read
            } | RdmaTest::Verify {
                transfer: BandwidthOperation::Read
            }
        );
        size <= allowed.min(INLINE_WRITE) && !reads
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
