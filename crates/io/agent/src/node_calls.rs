//! The calls that commands make, with what a person is told meanwhile.

use std::time::Duration;

use crosstie_fabric::cabling::{Listened, PortHeard, Probe};
use crosstie_facts::Raw;
use crosstie_model::change::{self, ChangeError, Changed, Probed};
use crosstie_node::{
    cabling::CablingError,
    capture,
    trust::{self, Settled},
};
use crosstie_reach::{Session, SessionError, Stage};

use crate::{
    Cabling, CallError, Change, Collect, CollectError, Hello, Identity, LeaseAsk, NoError, Reach,
    Refusal, Trust, TrustLease, call, call::with_causes, call_with_stream, calls::collect::Sending,
};

/// Longest packed capture. A large machine's has some 2 MiB.
const MAX_CAPTURE: usize = 64 << 20;

/// Characters of what sudo said that are kept.
const MAX_REFUSAL: usize = 300;

/// On every session.
pub trait NodeCalls {
    fn hello(&self, deadline: Duration) -> Result<Identity, CallError<NoError>>;

    /// Everything that facts are parsed from.
    fn collect(
        &self,
        deadline: Duration,
        progress: &dyn Fn(Stage),
    ) -> Result<Raw, CallError<CollectError>>;

    /// Changes who may log in to the user's account there, and what it knows of others.
    fn trust(
        &self,
        ask: &trust::Ask,
        deadline: Duration,
        progress: &dyn Fn(Stage),
    ) -> Result<Settled, CallError<Refusal>>;

    /// Nobody else changes who may log in there meanwhile.
    fn trust_lease(
        &self,
        ask: &LeaseAsk,
        deadline: Duration,
        progress: &dyn Fn(Stage),
    ) -> Result<(), CallError<Refusal>>;

    /// Says the node's name on interfaces and listens there, as root.
    fn cabling(
        &self,
        probe: &Probe,
        deadline: Duration,
        progress: &dyn Fn(Stage),
        on_hearing: &mut dyn FnMut(Vec<PortHeard>),
    ) -> Result<Listened, CallError<CablingError>>;

    /// Changes the node under a guard, or asks what became of a change. As root.
    fn change(
        &self,
        ask: &change::Ask,
        deadline: Duration,
        progress: &dyn Fn(Stage),
    ) -> Result<Changed, CallError<ChangeError>>;

    /// Tries what answers from there.
    fn reach(
        &self,
        probes: &[change::Probe],
        deadline: Duration,
        progress: &dyn Fn(Stage),
    ) -> Result<Vec<Probed>, CallError<NoError>>;
}

impl<S: Session + ?Sized> NodeCalls for S {
    fn hello(&self, deadline: Duration) -> Result<Identity, CallError<NoError>> {
        call::<Hello>(self, &(), deadline, &mut |()| ())
    }

    fn collect(
        &self,
        deadline: Duration,
        progress: &dyn Fn(Stage),
    ) -> Result<Raw, CallError<CollectError>> {
        progress(Stage::Reading);
        let mut packed = Vec::new();
        let mut keep = |bytes: &[u8]| {
            packed.extend_from_slice(bytes);
            let limit = MAX_CAPTURE;
            let fits = packed.len() <= limit;
            fits.then_some(()).ok_or(SessionError::TooLong { limit })
        };
        let mut sending = |Sending { bytes }| progress(Stage::Receiving { bytes });
        let collected = call_with_stream::<Collect>(self, &(), deadline, &mut sending, &mut keep)?;
        if collected.bytes != packed.len() as u64 {
            return Err(SessionError::WrongAnswer.into());
        }
        let raw = capture::unpack(&packed).map_err(|error| {
            CallError::Call(CollectError::Unusable {
                why: with_causes(&error),
            })
        });
        raw.map(|raw| noting(raw, self.refusal()))
    }

    fn trust(
        &self,
        ask: &trust::Ask,
        deadline: Duration,
        progress: &dyn Fn(Stage),
    ) -> Result<Settled, CallError<Refusal>> {
        progress(Stage::Changing);
        call::<Trust>(self, ask, deadline, &mut |()| ())
    }

    fn trust_lease(
        &self,
        ask: &LeaseAsk,
        deadline: Duration,
        progress: &dyn Fn(Stage),
    ) -> Result<(), CallError<Refusal>> {
        progress(Stage::Waiting);
        call::<TrustLease>(self, ask, deadline, &mut |()| ())
    }

    fn cabling(
        &self,
        probe: &Probe,
        deadline: Duration,
        progress: &dyn Fn(Stage),
        on_hearing: &mut dyn FnMut(Vec<PortHeard>),
    ) -> Result<Listened, CallError<CablingError>> {
        progress(Stage::Listening);
        let listened = call::<Cabling>(self, probe, deadline, on_hearing);
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
        ask: &change::Ask,
        deadline: Duration,
        progress: &dyn Fn(Stage),
    ) -> Result<Changed, CallError<ChangeError>> {
        progress(stage(ask));
        let changed = call::<Change>(self, ask, deadline, &mut |()| ());
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
        probes: &[change::Probe],
        deadline: Duration,
        progress: &dyn Fn(Stage),
    ) -> Result<Vec<Probed>, CallError<NoError>> {
        progress(Stage::Probing);
        call::<Reach>(self, &probes.to_vec(), deadline, &mut |()| ())
    }
}

fn stage(ask: &change::Ask) -> Stage {
    match ask {
        change::Ask::Apply(_) | change::Ask::Try(_) => Stage::Changing,
        change::Ask::Confirm { .. } => Stage::Confirming,
        change::Ask::Rollback { .. } | change::Ask::Uninstall { .. } => Stage::GoingBack,
        change::Ask::Status => Stage::Reading,
    }
}

/// What sudo said is why there is no root.
fn shortened(refusal: &str) -> String {
    refusal.chars().take(MAX_REFUSAL).collect()
}

/// Root was asked for and not given: that is why some of it is missing.
pub(crate) fn noting(mut raw: Raw, refusal: Option<&str>) -> Raw {
    raw.meta.root_refused = refusal.map(shortened);
    raw
}
