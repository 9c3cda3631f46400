//! The calls that commands make, with what a person is told meanwhile.

use std::time::Duration;

use crosstie_fabric::cabling::{CablingReply, CablingRequest, PortReception};
use crosstie_facts::RawCapture;
use crosstie_model::change::{self, ChangeError, ChangeReply, ProbeResult};
use crosstie_node::{
    cabling::CablingError,
    capture,
    trust::{self, TrustReply},
};
use crosstie_reach::{NodeStage, Session, SessionError};

use crate::{
    AgentIdentity, CablingCall, CallError, ChangeCall, CollectCall, CollectError, HelloCall,
    HomeLeaseCall, HomeLeaseRequest, NoError, ReachabilityCall, TrustCall, TrustCallError, call,
    call::with_causes, call_with_stream, calls::collect::CollectProgress,
};

/// Longest packed capture. A large machine's has some 2 MiB.
const MAX_CAPTURE: usize = 64 << 20;

/// Characters of what sudo said that are kept.
const MAX_REFUSAL: usize = 300;

/// On every session.
pub trait NodeCalls {
    fn hello(&self, deadline: Duration) -> Result<AgentIdentity, CallError<NoError>>;

    /// Everything that facts are parsed from.
    fn collect(
        &self,
        deadline: Duration,
        progress: &dyn Fn(NodeStage),
    ) -> Result<RawCapture, CallError<CollectError>>;

    /// Changes who may log in to the user's account there, and what it knows of others.
    fn trust(
        &self,
        ask: &trust::TrustRequest,
        deadline: Duration,
        progress: &dyn Fn(NodeStage),
    ) -> Result<TrustReply, CallError<TrustCallError>>;

    /// Nobody else changes who may log in there meanwhile.
    fn home_lease(
        &self,
        ask: &HomeLeaseRequest,
        deadline: Duration,
        progress: &dyn Fn(NodeStage),
    ) -> Result<(), CallError<TrustCallError>>;

    /// Says the node's name on interfaces and listens there, as root.
    fn cabling(
        &self,
        probe: &CablingRequest,
        deadline: Duration,
        progress: &dyn Fn(NodeStage),
        on_hearing: &mut dyn FnMut(Vec<PortReception>),
    ) -> Result<CablingReply, CallError<CablingError>>;

    /// Changes the node under a guard, or asks what became of a change. As root.
    fn change(
        &self,
        ask: &change::ChangeRequest,
        deadline: Duration,
        progress: &dyn Fn(NodeStage),
    ) -> Result<ChangeReply, CallError<ChangeError>>;

    /// Tries what answers from there.
    fn reach(
        &self,
        probes: &[change::ReachabilityProbe],
        deadline: Duration,
        progress: &dyn Fn(NodeStage),
    ) -> Result<Vec<ProbeResult>, CallError<NoError>>;
}

impl<S: Session + ?Sized> NodeCalls for S {
    fn hello(&self, deadline: Duration) -> Result<AgentIdentity, CallError<NoError>> {
        call::<HelloCall>(self, &(), deadline, &mut |()| ())
    }

    fn collect(
        &self,
        deadline: Duration,
        progress: &dyn Fn(NodeStage),
    ) -> Result<RawCapture, CallError<CollectError>> {
        progress(NodeStage::Reading);
        let mut packed = Vec::new();
        let mut keep = |bytes: &[u8]| {
            packed.extend_from_slice(bytes);
            let limit = MAX_CAPTURE;
            let fits = packed.len() <= limit;
            fits.then_some(()).ok_or(SessionError::TooLong { limit })
        };
        let mut sending = |CollectProgress { bytes }| progress(NodeStage::Receiving { bytes });
        let collected =
            call_with_stream::<CollectCall>(self, &(), deadline, &mut sending, &mut keep)?;
        if collected.bytes != packed.len() as u64 {
            return Err(SessionError::WrongAnswer.into());
        }
        let raw = capture::unpack(&packed).map_err(|error| {
            CallError::Call(CollectError::Unusable {
                why: with_causes(&error),
            })
        });
        raw.map(|raw| with_root_refusal(raw, self.refusal()))
    }

    fn trust(
        &self,
        ask: &trust::TrustRequest,
        deadline: Duration,
        progress: &dyn Fn(NodeStage),
    ) -> Result<TrustReply, CallError<TrustCallError>> {
        progress(NodeStage::Changing);
        call::<TrustCall>(self, ask, deadline, &mut |()| ())
    }

    fn home_lease(
        &self,
        ask: &HomeLeaseRequest,
        deadline: Duration,
        progress: &dyn Fn(NodeStage),
    ) -> Result<(), CallError<TrustCallError>> {
        progress(NodeStage::Waiting);
        call::<HomeLeaseCall>(self, ask, deadline, &mut |()| ())
    }

    fn cabling(
        &self,
        probe: &CablingRequest,
        deadline: Duration,
        progress: &dyn Fn(NodeStage),
        on_hearing: &mut dyn FnMut(Vec<PortReception>),
    ) -> Result<CablingReply, CallError<CablingError>> {
        progress(NodeStage::Listening);
        let listened = call::<CablingCall>(self, probe, deadline, on_hearing);
        listened.map_err(|error| match (error, self.refusal()) {
            (CallError::Call(CablingError::NotRoot { .. }), Some(why)) => {
                let why = shortened(why);
                CallError::Call(CablingError::NotRoot { why })
            }
            (error, _) => error,
        })
    }

    fn change(
        &self,
        ask: &change::ChangeRequest,
        deadline: Duration,
        progress: &dyn Fn(NodeStage),
    ) -> Result<ChangeReply, CallError<ChangeError>> {
        progress(stage(ask));
        let changed = call::<ChangeCall>(self, ask, deadline, &mut |()| ());
        changed.map_err(|error| match (error, self.refusal()) {
            (CallError::Call(ChangeError::NotRoot { .. }), Some(why)) => {
                let why = shortened(why);
                CallError::Call(ChangeError::NotRoot { why })
            }
            (error, _) => error,
        })
    }

    fn reach(
        &self,
        probes: &[change::ReachabilityProbe],
        deadline: Duration,
        progress: &dyn Fn(NodeStage),
    ) -> Result<Vec<ProbeResult>, CallError<NoError>> {
        progress(NodeStage::Probing);
        call::<ReachabilityCall>(self, &probes.to_vec(), deadline, &mut |()| ())
    }
}

fn stage(ask: &change::ChangeRequest) -> NodeStage {
    match ask {
        change::ChangeRequest::Apply(_) | change::ChangeRequest::Try(_) => NodeStage::Changing,
        change::ChangeRequest::Confirm { .. } => NodeStage::Confirming,
        change::ChangeRequest::Rollback { .. } | change::ChangeRequest::Uninstall { .. } => {
            NodeStage::RollingBack
        }
        change::ChangeRequest::Status => NodeStage::Reading,
    }
}

/// What sudo said is why there is no root.
fn shortened(refusal: &str) -> String {
    refusal.chars().take(MAX_REFUSAL).collect()
}

/// Root was asked for and not given: that is why some of it is missing.
pub(crate) fn with_root_refusal(mut raw: RawCapture, refusal: Option<&str>) -> RawCapture {
    raw.meta.root_refused = refusal.map(shortened);
    raw
}
