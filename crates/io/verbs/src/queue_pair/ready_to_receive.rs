//! The step from taking what a peer sends to sending.

use crosstie_verbs_abi::{self as abi, ZeroableType};
use rustix::io::Errno;

use super::{PathOptions, QueuePair, ReadyToReceive, ReadyToSend};
use crate::{call::failed, endpoint::QueuePairEndpoint, error::QueuePairConnectError};

/// How often a message is sent again to a peer that has posted no receive. 7 would be endless: a peer that never
/// posts one would hang us.
const RNR_RETRY: u8 = 6;

impl QueuePair<ReadyToReceive> {
    /// Able to send from now on. The peer must be ready to receive before it does.
    pub fn ready_to_send(
        self,
        peer: &QueuePairEndpoint,
        path: PathOptions,
    ) -> Result<QueuePair<ReadyToSend>, QueuePairConnectError> {
        let mut attributes = abi::QueuePairAttributes {
            qp_state: abi::STATE_READY_TO_SEND,
            timeout: path.timeout,
            retry_cnt: path.retry_count,
            rnr_retry: RNR_RETRY,
            sq_psn: self.handle.packet_sequence,
            max_rd_atomic: path.reads.min(peer.reads_answered),
            ..abi::QueuePairAttributes::ZEROED
        };
        let mask = abi::SET_STATE
            | abi::SET_TIMEOUT
            | abi::SET_RETRY_COUNT
            | abi::SET_RNR_RETRY
            | abi::SET_SEND_PSN
            | abi::SET_MAX_READS;
        self.handle
            .modify(&mut attributes, mask)
            .map_err(|source| {
                let device = self.handle.device().to_owned();
                if source.raw_os_error() == Some(Errno::INVAL.raw_os_error()) {
                    let peer = peer.address.to_string();
                    return QueuePairConnectError::Refused {
                        device,
                        step: "send",
                        peer,
                        source,
                    };
                }
                QueuePairConnectError::Call(failed(&device, "ibv_modify_qp to RTS")(source))
            })?;
        Ok(self.become_state())
    }
}
