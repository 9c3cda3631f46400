//! What ports count at this moment, for whoever asks before and after a run.

use crosstie_counters::{CounterReading, PortName};

use crate::{Call, Context, NoError};

/// Ports of one node at most.
const MOST_PORTS: usize = 256;

pub struct Counters;

impl Call for Counters {
    const NAME: &'static str = "counters";
    type Ask = Vec<PortName>;
    type Event = ();
    /// One a port, in the order in which they were asked for.
    type Answer = Vec<CounterReading>;
    type Error = NoError;

    fn run(ports: Vec<PortName>, _: &Context<'_, ()>) -> Result<Vec<CounterReading>, NoError> {
        let ports = ports.iter().take(MOST_PORTS);
        Ok(ports.map(crosstie_node::counters).collect())
    }
}
