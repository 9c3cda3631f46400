//! Connecting queue pairs with the peer's.

use super::{Connection, JoinedEngine, Offer, OpenEngine, Work};
use crate::{
    error::JoinError,
    latency::LatencyWork,
    receiver::Receiver,
    request::Test,
    size_plan::{MemoryCap, SizePlan, bytes_of},
    verify::VerifyWork,
};

impl OpenEngine {
    /// For the peer.
    pub fn offer(&self) -> &Offer {
        &self.own
    }

    /// Whether buffers are smaller than what was asked for.
    pub fn memory_cap(&self) -> Option<MemoryCap> {
        self.cap
    }

    /// Connects each queue pair with the peer's of the same place.
    pub fn join(self, peer: &Offer) -> Result<JoinedEngine, JoinError> {
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
            return Err(JoinError::Count {
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
                return Err(JoinError::Memory { needed, theirs });
            }
            let connected = pair
                .ready_to_receive(&from, own, peer, path)
                .and_then(|pair| pair.ready_to_send(peer, path));
            let pair = connected.map_err(|source| JoinError::Connect {
                index,
                count,
                source,
            })?;
            connections.push(Connection::new(&parts, pair, peer.memory, index)?);
        }
        let work = match parts.request.test {
            Test::Bandwidth { .. } => Work::Bandwidth(Receiver::new(&parts, &mut connections)?),
            Test::Latency { message } => {
                Work::Latency(LatencyWork::new(&parts, &mut connections, message)?)
            }
            Test::Verify { transfer } => {
                Work::Verify(transfer, VerifyWork::new(&parts, &mut connections)?)
            }
        };
        Ok(JoinedEngine {
            parts,
            connections,
            work,
        })
    }
}
