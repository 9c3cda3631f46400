//! A session with a node that is made up.

use std::sync::{Mutex, PoisonError};

use crosstie_agent::{Call, CallError, Change, Collect, Collected, Reach};
use crosstie_facts::Raw;
use crosstie_model::change::{
    Ask, ChangeError, Changed, Kind, Probe, Probed, State, TransactionStatus,
};
use crosstie_reach::{CallLimits, Session, SessionError};

/// There is nothing to read on it, and of anything but changes and probes it knows nothing.
pub(crate) struct MadeUp<N> {
    pub(crate) name: String,
    pub(crate) node: Mutex<N>,
}

/// What it does.
pub(crate) trait MadeUpNode: Send {
    fn change(&mut self, ask: &Ask) -> Result<Changed, CallError<ChangeError>>;

    fn reach(&mut self, _: &[Probe]) -> Result<Vec<Probed>, SessionError> {
        Err(SessionError::Broken)
    }
}

impl<N: MadeUpNode> Session for MadeUp<N> {
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
        if name == Collect::NAME {
            let packed = crosstie_node::capture::pack(&Raw::default());
            on_stream(&packed)?;
            let bytes = packed.len() as u64;
            return Ok(answer::<Collect>(&Ok(Collected { bytes })));
        }
        if name == Reach::NAME {
            let probed = node.reach(&asked::<Reach>(ask))?;
            return Ok(answer::<Reach>(&Ok(probed)));
        }
        if name == Change::NAME {
            return match node.change(&asked::<Change>(ask)) {
                Ok(changed) => Ok(answer::<Change>(&Ok(changed))),
                Err(CallError::Call(error)) => Ok(answer::<Change>(&Err(error))),
                Err(CallError::Session(error)) => Err(error),
            };
        }
        Err(SessionError::Broken)
    }
}

fn asked<C: Call>(ask: &[u8]) -> C::Ask {
    serde_json::from_slice(ask).unwrap()
}

fn answer<C: Call>(result: &Result<C::Answer, C::Error>) -> Vec<u8> {
    serde_json::to_vec(result).unwrap()
}

/// The run of every change of theirs.
pub(crate) const RUN: &str = "20261115T095959Z-1f2e3d4c";

pub(crate) fn transaction(kind: Kind, state: State) -> TransactionStatus {
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
