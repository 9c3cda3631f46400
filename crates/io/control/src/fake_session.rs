//! A session with a node that is made up.

use std::sync::{Mutex, PoisonError};

use crosstie_agent::{Call, CallError, ChangeCall, CollectCall, CollectReply, ReachabilityCall};
use crosstie_facts::RawCapture;
use crosstie_model::change::{
    ChangeError, ChangeReply, ChangeRequest, ProbeResult, ReachabilityProbe, TransactionKind,
    TransactionState, TransactionStatus,
};
use crosstie_reach::{CallLimits, Session, SessionError};

/// There is nothing to read on it, and of anything but changes and probes it knows nothing.
pub(crate) struct FakeSession<N> {
    pub(crate) name: String,
    pub(crate) node: Mutex<N>,
}

/// What it does.
pub(crate) trait FakeNode: Send {
    fn change(&mut self, ask: &ChangeRequest) -> Result<ChangeReply, CallError<ChangeError>>;

    fn reach(&mut self, _: &[ReachabilityProbe]) -> Result<Vec<ProbeResult>, SessionError> {
        Err(SessionError::Broken)
    }
}

impl<N: FakeNode> Session for FakeSession<N> {
    fn name(&self) -> &str {
        &self.name
    }

    fn refusal(&self) -> Option<&str> {
        None
    }

    fn call_raw(
        &self,
        name: &str,
        ask: &[u8],
        _: CallLimits<'_>,
        _: &mut dyn FnMut(&[u8]),
        on_stream: &mut dyn FnMut(&[u8]) -> Result<(), SessionError>,
    ) -> Result<Vec<u8>, SessionError> {
        let mut node = self.node.lock().unwrap_or_else(PoisonError::into_inner);
        if name == CollectCall::NAME {
            let packed = crosstie_node::capture::pack(&RawCapture::default()).unwrap();
            on_stream(&packed)?;
            let bytes = packed.len() as u64;
            return Ok(encode_reply::<CollectCall>(&Ok(CollectReply { bytes })));
        }
        if name == ReachabilityCall::NAME {
            let probed = node.reach(&decode_request::<ReachabilityCall>(ask))?;
            return Ok(encode_reply::<ReachabilityCall>(&Ok(probed)));
        }
        if name == ChangeCall::NAME {
            return match node.change(&decode_request::<ChangeCall>(ask)) {
                Ok(changed) => Ok(encode_reply::<ChangeCall>(&Ok(changed))),
                Err(CallError::Call(error)) => Ok(encode_reply::<ChangeCall>(&Err(error))),
                Err(CallError::Session(error)) => Err(error),
            };
        }
        Err(SessionError::Broken)
    }
}

fn decode_request<C: Call>(ask: &[u8]) -> C::Request {
    serde_json::from_slice(ask).unwrap()
}

fn encode_reply<C: Call>(result: &Result<C::Answer, C::Error>) -> Vec<u8> {
    serde_json::to_vec(result).unwrap()
}

/// The run of every change of theirs.
pub(crate) const RUN: &str = "20261115T095959Z-1f2e3d4c";

pub(crate) fn transaction(kind: TransactionKind, state: TransactionState) -> TransactionStatus {
    TransactionStatus {
        id: "7".to_owned(),
        run: Some(RUN.to_owned()),
        kind,
        what: "sparks".to_owned(),
        state,
        began: "2026-11-15T10:00:00Z".to_owned(),
        seconds_left: None,
        why: None,
    }
}
