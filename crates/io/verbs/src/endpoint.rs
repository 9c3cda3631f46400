//! What two ends tell each other, over a connection of their own, before their queue pairs meet.

use std::fmt;

use crosstie_model::{Gid, Mtu};
use serde::{Deserialize, Serialize};

use crate::{
    error::{EndpointError, OutOfRange},
    port::PathMtu,
};

/// One queue pair, and the memory that its peer may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueuePairEndpoint {
    /// 24 bits.
    pub queue_pair: u32,
    /// Of its first packet; 24 bits.
    pub packet_sequence: u32,
    pub address: LidOrGid,
    /// In bytes. The lesser of both ends' counts.
    pub path_mtu: u32,
    /// RDMA reads that it answers at once.
    pub reads_answered: u8,
    pub memory: RemoteMemory,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "lowercase")]
pub enum LidOrGid {
    InfiniBand { lid: u16 },
    Roce { gid: Gid },
}

/// A region of a peer's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RemoteMemory {
    pub address: u64,
    pub length: u64,
    pub key: u32,
}

const BITS_24: u32 = 0x00ff_ffff;
/// LIDs from here on are multicast groups.
const FIRST_MULTICAST_LID: u16 = 0xc000;

impl QueuePairEndpoint {
    /// Whether a device could be given this. A peer that lies about the rest makes requests fail, no more.
    pub(crate) fn check(&self) -> Result<PathMtu, EndpointError> {
        if self.queue_pair > BITS_24 {
            return Err(EndpointError::QueuePair(self.queue_pair));
        }
        if self.packet_sequence > BITS_24 {
            return Err(EndpointError::PacketSequence(self.packet_sequence));
        }
        match self.address {
            LidOrGid::InfiniBand { lid } if lid == 0 || lid >= FIRST_MULTICAST_LID => {
                return Err(EndpointError::Lid(lid));
            }
            LidOrGid::Roce { gid } if gid.is_empty() || gid.0.is_multicast() => {
                return Err(EndpointError::Gid(gid));
            }
            LidOrGid::InfiniBand { .. } | LidOrGid::Roce { .. } => {}
        }
        PathMtu::try_from(Mtu(self.path_mtu))
    }
}

impl fmt::Display for LidOrGid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InfiniBand { lid } => write!(f, "LID {lid}"),
            Self::Roce { gid } => gid.address().fmt(f),
        }
    }
}

impl RemoteMemory {
    /// The address of a piece of it.
    pub(crate) fn address_of(&self, offset: u64, length: u32) -> Result<u64, OutOfRange> {
        let end = offset.checked_add(length.into());
        let address = self.address.checked_add(offset);
        match (end, address) {
            (Some(end), Some(address)) if end <= self.length => Ok(address),
            _ => Err(OutOfRange {
                offset,
                length: length.into(),
                region: self.length,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDPOINT: QueuePairEndpoint = QueuePairEndpoint {
        queue_pair: 17,
        packet_sequence: 0x00ab_cdef,
        address: LidOrGid::InfiniBand { lid: 7 },
        path_mtu: 4096,
        reads_answered: 16,
        memory: RemoteMemory {
            address: 0xffff_0000_0000,
            length: 4096,
            key: 3,
        },
    };

    #[test]
    fn what_no_device_could_be_given_is_refused() {
        ENDPOINT.check().unwrap();
        let gid = Gid("ff02::1".parse().unwrap());
        let wrong = [
            QueuePairEndpoint {
                queue_pair: 1 << 24,
                ..ENDPOINT
            },
            QueuePairEndpoint {
                packet_sequence: 1 << 24,
                ..ENDPOINT
            },
            QueuePairEndpoint {
                path_mtu: 1500,
                ..ENDPOINT
            },
            QueuePairEndpoint {
                address: LidOrGid::InfiniBand { lid: 0 },
                ..ENDPOINT
            },
            QueuePairEndpoint {
                address: LidOrGid::InfiniBand { lid: 0xc000 },
                ..ENDPOINT
            },
            QueuePairEndpoint {
                address: LidOrGid::Roce { gid },
                ..ENDPOINT
            },
        ];
        for endpoint in wrong {
            assert!(endpoint.check().is_err(), "{endpoint:?}");
        }
    }

    #[test]
    fn a_piece_of_remote_memory_stays_within_it() {
        let memory = ENDPOINT.memory;
        assert_eq!(memory.address_of(4000, 96), Ok(0xffff_0000_0fa0));
        for (offset, length) in [(4000, 97), (4097, 0), (u64::MAX, 1)] {
            assert!(
                memory.address_of(offset, length).is_err(),
                "{length} at {offset}"
            );
        }
    }
}
