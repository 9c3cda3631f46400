//! Making a queue pair, and telling it of its peer.

use std::{io, marker::PhantomData, sync::Arc};

use crosstie_verbs_abi::{self as abi, ZeroableType};
use rustix::{io::Errno, rand::GetRandomFlags};

use super::{
    Initialised, PathOptions, QueuePair, QueuePairOptions, READ_AND_WRITE, ReadyToReceive,
    handle::PairHandle,
};
use crate::{
    call::{failed, field, pointer},
    completion::CompletionQueue,
    endpoint::{LidOrGid, QueuePairEndpoint, RemoteMemory},
    error::{CreateError, QueuePairConnectError},
    gid::PortAddress,
    port::PathMtu,
    protection_domain::ProtectionDomain,
};

/// How long a peer waits before it sends again to a queue that had no receive: 10.24 ms. It does so six times, in which a thread that
/// lost its processor gets it back.
const MIN_RNR_TIMER: u8 = 20;
/// Routers between us and the peer, plus one.
const HOP_LIMIT: u8 = 64;

impl ProtectionDomain {
    /// A queue pair on a port, whose completions go to these queues.
    pub fn queue_pair(
        &self,
        port: u8,
        sends: &CompletionQueue,
        receives: &CompletionQueue,
        options: QueuePairOptions,
    ) -> Result<QueuePair<Initialised>, CreateError> {
        let context = &self.0.context;
        let mut wanted = abi::QueuePairInit {
            send_cq: sends.0.raw.as_ptr(),
            recv_cq: receives.0.raw.as_ptr(),
            cap: abi::QueueCapabilities {
                max_send_wr: options.send_depth,
                max_recv_wr: options.receive_depth,
                max_send_sge: 1,
                max_recv_sge: 1,
                max_inline_data: options.inline_bytes,
            },
            qp_type: abi::QUEUE_PAIR_RELIABLE,
            ..abi::QueuePairInit::ZEROED
        };
        let create = context.functions().ibv_create_qp;
        // SAFETY: a domain and queues that live, which the handle keeps so.
        let made = pointer(unsafe { create(self.0.raw.as_ptr(), &raw mut wanted) });
        let raw = made.map_err(CreateError::of(
            &context.name,
            "a queue pair",
            "ibv_create_qp",
        ))?;
        let handle = PairHandle {
            raw,
            operations: context.operations,
            // SAFETY: a queue pair has its number at this offset, and it does not change.
            number: unsafe { field(raw, abi::queue_pair::NUMBER) },
            packet_sequence: random_24_bits(),
            port,
            capabilities: wanted.cap,
            domain: Arc::clone(&self.0),
            _queues: [Arc::clone(&sends.0), Arc::clone(&receives.0)],
        };
        let mut attributes = abi::QueuePairAttributes {
            qp_state: abi::STATE_INIT,
            qp_access_flags: READ_AND_WRITE,
            port_num: port,
            ..abi::QueuePairAttributes::ZEROED
        };
        let mask =
            abi::SET_STATE | abi::SET_PARTITION_INDEX | abi::SET_PORT | abi::SET_ACCESS_FLAGS;
        let modified = handle.modify(&mut attributes, mask);
        modified.map_err(CreateError::of(
            &context.name,
            "a queue pair on this port",
            "ibv_modify_qp to INIT",
        ))?;
        Ok(QueuePair {
            handle,
            state: PhantomData,
        })
    }
}

/// Packets of an earlier connection of the same numbers are then not taken for this one's.
fn random_24_bits() -> u32 {
    let mut bytes = [0; 4];
    // Any number will do where the kernel has none to give.
    let _ = rustix::rand::getrandom(&mut bytes[..3], GetRandomFlags::NONBLOCK);
    u32::from_le_bytes(bytes)
}

impl QueuePair<Initialised> {
    /// What the peer has to be told.
    pub fn endpoint(
        &self,
        from: &PortAddress,
        mtu: PathMtu,
        reads_answered: u8,
        memory: RemoteMemory,
    ) -> QueuePairEndpoint {
        let address = match *from {
            PortAddress::InfiniBand { lid, .. } => LidOrGid::InfiniBand { lid },
            PortAddress::Roce { gid, .. } => LidOrGid::Roce { gid },
        };
        QueuePairEndpoint {
            queue_pair: self.handle.number,
            packet_sequence: self.handle.packet_sequence,
            address,
            path_mtu: mtu.bytes(),
            reads_answered,
            memory,
        }
    }

    /// Takes what the peer sends from now on. `own` is what [`endpoint`](Self::endpoint) made.
    pub fn ready_to_receive(
        self,
        from: &PortAddress,
        own: &QueuePairEndpoint,
        peer: &QueuePairEndpoint,
        path: PathOptions,
    ) -> Result<QueuePair<ReadyToReceive>, QueuePairConnectError> {
        let mtu = peer.check()?.min(own.check()?);
        path.check()?;
        let mut attributes = abi::QueuePairAttributes {
            qp_state: abi::STATE_READY_TO_RECEIVE,
            path_mtu: mtu.code(),
            dest_qp_num: peer.queue_pair,
            rq_psn: peer.packet_sequence,
            max_dest_rd_atomic: own.reads_answered,
            min_rnr_timer: MIN_RNR_TIMER,
            ah_attr: self.address_vector(from, peer, path)?,
            ..abi::QueuePairAttributes::ZEROED
        };
        let mask = abi::SET_STATE
            | abi::SET_ADDRESS_VECTOR
            | abi::SET_PATH_MTU
            | abi::SET_DESTINATION
            | abi::SET_RECEIVE_PSN
            | abi::SET_MAX_DESTINATION_READS
            | abi::SET_MIN_RNR_TIMER;
        let modified = self.handle.modify(&mut attributes, mask);
        modified.map_err(|source| self.connect_error(peer, source))?;
        Ok(self.become_state())
    }

    fn address_vector(
        &self,
        from: &PortAddress,
        peer: &QueuePairEndpoint,
        path: PathOptions,
    ) -> Result<abi::AddressVector, QueuePairConnectError> {
        let vector = abi::AddressVector {
            sl: path.service_level,
            port_num: self.handle.port,
            ..abi::AddressVector::ZEROED
        };
        match (*from, peer.address) {
            (PortAddress::InfiniBand { .. }, LidOrGid::InfiniBand { lid }) => {
                Ok(abi::AddressVector {
                    dlid: lid,
                    ..vector
                })
            }
            (PortAddress::Roce { index, .. }, LidOrGid::Roce { gid }) => Ok(abi::AddressVector {
                is_global: 1,
                grh: abi::GlobalRoute {
                    dgid: abi::GlobalId::from_bytes(gid.0.octets()),
                    sgid_index: index,
                    hop_limit: HOP_LIMIT,
                    traffic_class: path.traffic_class,
                    ..abi::GlobalRoute::ZEROED
                },
                ..vector
            }),
            _ => Err(QueuePairConnectError::LinkLayers {
                device: self.handle.device().to_owned(),
            }),
        }
    }

    fn connect_error(&self, peer: &QueuePairEndpoint, source: io::Error) -> QueuePairConnectError {
        let device = self.handle.device().to_owned();
        let peer = peer.address.to_string();
        match source.raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::TIMEDOUT | Errno::HOSTUNREACH | Errno::NETUNREACH) => {
                QueuePairConnectError::Unreachable {
                    device,
                    peer,
                    source,
                }
            }
            Some(Errno::INVAL) => QueuePairConnectError::Refused {
                device,
                step: "receive",
                peer,
                source,
            },
            _ => QueuePairConnectError::Call(failed(&device, "ibv_modify_qp to RTR")(source)),
        }
    }
}

impl PathOptions {
    fn check(self) -> Result<(), QueuePairConnectError> {
        for (what, value, range, allowed) in [
            // 0 is endless: a peer that is gone would never be noticed.
            ("the timeout", self.timeout, 1..=31, "1 to 31"),
            ("the retry count", self.retry_count, 0..=7, "0 to 7"),
            ("the service level", self.service_level, 0..=15, "0 to 15"),
        ] {
            if !range.contains(&value) {
                let value = value.into();
                return Err(QueuePairConnectError::Option {
                    what,
                    value,
                    allowed,
                });
            }
        }
        Ok(())
    }
}
