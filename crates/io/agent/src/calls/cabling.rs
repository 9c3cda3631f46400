//! Says the node's name on interfaces and listens there, as root.

use std::{
    sync::mpsc::{self, Receiver},
    time::Duration,
};

use crosstie_fabric::cabling::{Listened, Probe};
use crosstie_node::{
    Stop,
    cabling::{self, CablingError},
};

use crate::{Call, Context};

/// For drivers to bring links down; what takes longer is left to the next run.
const RESTORE_TIMEOUT: Duration = Duration::from_secs(5);

pub struct Cabling;

impl Call for Cabling {
    const NAME: &'static str = "cabling";
    type Ask = Probe;
    type Event = ();
    type Answer = Listened;
    type Error = CablingError;

    fn run(probe: Probe, context: &Context<'_, ()>) -> Result<Listened, CablingError> {
        // Dropped when the links are restored, whatever happens.
        let (running, restored) = mpsc::channel();
        let stop = context.stop.clone();
        let id = context.resources.hold(RaisedLinks { stop, restored });
        let listened = cabling::probe(&probe, context.stop, cabling::STATE.as_ref());
        drop(running);
        context.resources.take::<RaisedLinks>(id);
        listened
    }
}

/// Links that are up for as long as the call runs. The session waits for them to be restored.
struct RaisedLinks {
    stop: Stop,
    /// Ends without a message.
    restored: Receiver<()>,
}

impl Drop for RaisedLinks {
    fn drop(&mut self) {
        self.stop.set();
        let _ = self.restored.recv_timeout(RESTORE_TIMEOUT);
    }
}
