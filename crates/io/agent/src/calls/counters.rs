//! What ports count at this moment, for whoever asks before and after a run.

use crosstie_counters::{CounterPort, CounterReading};

use crate::{Call, CallContext, NoError};

/// Ports of one node at most.
const MOST_PORTS: usize = 256;

pub struct CountersCall;

impl Call for CountersCall {
    const NAME: &'static str = "counters";
    type Request = Vec<CounterPort>;
    type Event = ();
    /// One a port, in the order in which they were asked for.
    type Answer = Vec<CounterReading>;
    type Error = NoError;

    fn run(
        ports: Vec<CounterPort>,
        _: &CallContext<'_, ()>,
    ) -> Result<Vec<CounterReading>, NoError> {
        let ports = ports.iter().take(MOST_PORTS);
        Ok(ports.map(crosstie_node::counters).collect())
    }
}
