//! Says the node's name on interfaces and listens there, as root.

use std::{
    sync::mpsc::{self, Receiver},
    time::Duration,
};

use crosstie_fabric::cabling::{CablingReply, CablingRequest, PortReception};
use crosstie_node::{
    StopFlag,
    cabling::{self, CablingError, ListenControl},
};

use crate::{Call, CallContext, NoError};

/// For drivers to bring links down; what takes longer is left to the next run.
const RESTORE_TIMEOUT: Duration = Duration::from_secs(5);

/// Until [`StopListeningCall`], or for as long as the probe says.
pub struct CablingCall;

impl Call for CablingCall {
    const NAME: &'static str = "cabling";
    type Request = CablingRequest;
    /// What every port heard so far.
    type Event = Vec<PortReception>;
    type Answer = CablingReply;
    type Error = CablingError;

    fn run(
        probe: CablingRequest,
        context: &CallContext<'_, Vec<PortReception>>,
    ) -> Result<CablingReply, CablingError> {
        // Dropped when the links are restored, whatever happens.
        let (running, restored) = mpsc::channel();
        let stop = context.stop.clone();
        let id = context.resources.hold(RaisedLinks { stop, restored });
        let end = StopFlag::default();
        let listening = Listening(Some(end.clone()));
        context.resources.with_only(|held| *held = listening);
        let conduct = ListenControl {
            stop: context.stop,
            end: &end,
            on_hearing: &|ports| context.emit(&ports.to_vec()),
        };
        let listened = cabling::run_cabling(&probe, &conduct, cabling::STATE.as_ref());
        drop(running);
        context.resources.take::<RaisedLinks>(id);
        listened
    }
}

/// Enough was heard: the run that listens now answers with it.
pub struct StopListeningCall;

impl Call for StopListeningCall {
    const NAME: &'static str = "cabling-end";
    type Request = ();
    type Event = ();
    type Answer = ();
    type Error = NoError;

    fn run((): (), context: &CallContext<'_, ()>) -> Result<(), NoError> {
        context.resources.with_only(|listening: &mut Listening| {
            if let Some(end) = listening.0.take() {
                end.set();
            }
        });
        Ok(())
    }
}

/// The end of the run that listens.
#[derive(Default)]
struct Listening(Option<StopFlag>);

/// Links that are up for as long as the call runs. The session waits for them to be restored.
struct RaisedLinks {
    stop: StopFlag,
    /// Ends without a message.
    restored: Receiver<()>,
}

impl Drop for RaisedLinks {
    fn drop(&mut self) {
        self.stop.set();
        let _ = self.restored.recv_timeout(RESTORE_TIMEOUT);
    }
}
