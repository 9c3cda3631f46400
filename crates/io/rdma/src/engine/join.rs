//! Connecting queue pairs with the peer's.

use super::{JoinedRdmaEngine, OpenRdmaEngine, RdmaConnection, RdmaEndpoints, Work};
use crate::{
    error::RdmaJoinError,
    latency::LatencyWork,
    receiver::ReceiveQueues,
    request::RdmaTest,
    size_plan::{MemoryCap, SizePlan, bytes_of},
    verify::VerifyWork,
};

impl OpenRdmaEngine {
    /// For the peer.
    pub fn offer(&self) -> &RdmaEndpoints {
        &self.own
    }

    /// Whether buffers are smaller than what was asked for.
    pub fn memory_cap(&self) -> Option<MemoryCap> {
        self.cap
    }

    /// Connects each queue pair with the peer's of the same place.
    pub fn join(self, peer: &RdmaEndpoints) -> Result<JoinedRdmaEngine, RdmaJoinError> {
        let Self {
            mut parts,
            cap: _,
            from,
            reads,
            own,
            pairs,
        } = self;
        let count = pairs.len();
        if peer.endpoints.len() != count {
            return Err(RdmaJoinError::Count {
                ours: count,
                theirs: peer.endpoints.len(),
            });
        }
        parts.plans = SizePlan::all(&parts.request, own.longest.min(peer.longest.max(1)))?;
        let needed = bytes_of(&parts.plans);
        let path = parts.request.path(reads);
        let mut connections = Vec::with_capacity(count);
        let both = own.endpoints.iter().zip(&peer.endpoints);
        for (index, (pair, (own, peer))) in pairs.into_iter().zip(both).enumerate() {
            if peer.memory.length < needed {
                let theirs = peer.memory.length;
                return Err(RdmaJoinError::Memory { needed, theirs });
            }
            let connected = pair
                .ready_to_receive(&from, own, peer, path)
                .and_then(|pair| pair.ready_to_send(peer, path));
            let pair = connected.map_err(|source| RdmaJoinError::Connect {
                index,
                count,
                source,
            })?;
            connections.push(RdmaConnection::new(&parts, pair, peer.memory, index)?);
        }
        let work = match parts.request.test {
            RdmaTest::Bandwidth { .. } => {
                Work::Bandwidth(ReceiveQueues::new(&parts, &mut connections)?)
            }
            RdmaTest::Latency { message } => {
                Work::Latency(LatencyWork::new(&parts, &mut connections, message)?)
            }
            RdmaTest::Verify { transfer } => {
                Work::Verify(transfer, VerifyWork::new(&parts, &mut connections)?)
            }
        };
        Ok(JoinedRdmaEngine {
            parts,
            connections,
            work,
        })
    }
}
