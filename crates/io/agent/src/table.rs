//! Every call that an agent answers.

use crosstie_reach::protocol::Failure;
use serde::Serialize;

use crate::{
    call::Call,
    calls::{
        cabling::{Cabling, CablingEnd},
        change::Change,
        collect::Collect,
        counters::Counters,
        hello::Hello,
        job::{Job, JobLog},
        peer_tool::PeerToolRun,
        reach::Reach,
        test::{TestClose, TestGo, TestJoin, TestOpen},
        trust::Trust,
        trust_lease::TrustLease,
    },
    context::{Context, RawContext},
    engines::{Rdma, Tcp},
};

pub const TABLE: &[Row] = &[
    Row::of::<Hello>(),
    Row::of::<Collect>(),
    Row::of::<Trust>(),
    Row::of::<TrustLease>(),
    Row::of::<Cabling>(),
    Row::of::<CablingEnd>(),
    Row::of::<Change>(),
    Row::of::<Reach>(),
    Row::of::<TestOpen<Rdma>>(),
    Row::of::<TestJoin<Rdma>>(),
    Row::of::<TestGo<Rdma>>(),
    Row::of::<TestClose<Rdma>>(),
    Row::of::<Counters>(),
    Row::of::<Job>(),
    Row::of::<JobLog>(),
    Row::of::<PeerToolRun>(),
    Row::of::<TestOpen<Tcp>>(),
    Row::of::<TestJoin<Tcp>>(),
    Row::of::<TestGo<Tcp>>(),
    Row::of::<TestClose<Tcp>>(),
];

/// A call by its name.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    pub(crate) name: &'static str,
    pub(crate) run: Run,
}

pub(crate) type Run = fn(&[u8], &RawContext) -> Result<Vec<u8>, Failure>;

impl Row {
    pub const fn of<C: Call>() -> Self {
        Self {
            name: C::NAME,
            run: run::<C>,
        }
    }
}

/// Its own errors are a part of the answer.
fn run<C: Call>(ask: &[u8], context: &RawContext) -> Result<Vec<u8>, Failure> {
    let ask = serde_json::from_slice(ask).map_err(|error| Failure::Unreadable {
        why: error.to_string(),
    })?;
    encode(&C::run(ask, &Context::new(context)))
}

fn encode(answer: &impl Serialize) -> Result<Vec<u8>, Failure> {
    // What cannot be written as JSON does not exist among our answers.
    serde_json::to_vec(answer).map_err(|_| Failure::TooLong)
}
