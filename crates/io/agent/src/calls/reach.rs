//! What answers from here.

use std::time::Duration;

use crosstie_model::change::{Probe, Probed};

use crate::{Call, Context, NoError};

/// Of each probe; they are few and short.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);

pub struct Reach;

impl Call for Reach {
    const NAME: &'static str = "reach";
    type Ask = Vec<Probe>;
    type Event = ();
    /// In the order of the probes.
    type Answer = Vec<Probed>;
    type Error = NoError;

    fn run(probes: Vec<Probe>, _: &Context<'_, ()>) -> Result<Vec<Probed>, NoError> {
        Ok(crosstie_node::probe::reach(&probes, PROBE_TIMEOUT))
    }
}
