//! What answers from here.

use std::time::Duration;

use crosstie_model::change::{ProbeResult, ReachabilityProbe};

use crate::{Call, CallContext, NoError};

/// Of each probe; they are few and short.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);

pub struct ReachabilityCall;

impl Call for ReachabilityCall {
    const NAME: &'static str = "reach";
    type Request = Vec<ReachabilityProbe>;
    type Event = ();
    /// In the order of the probes.
    type Answer = Vec<ProbeResult>;
    type Error = NoError;

    fn run(
        probes: Vec<ReachabilityProbe>,
        _: &CallContext<'_, ()>,
    ) -> Result<Vec<ProbeResult>, NoError> {
        Ok(crosstie_node::probe::run_probes(&probes, PROBE_TIMEOUT))
    }
}
