//! Every call that an agent answers.

use crosstie_reach::protocol::CallFailure;
use serde::Serialize;

use crate::{
    call::Call,
    calls::{
        cabling::{CablingCall, StopListeningCall},
        change::ChangeCall,
        collect::CollectCall,
        comparison_tool::ComparisonToolCall,
        counters::CountersCall,
        hello::HelloCall,
        home_lease::HomeLeaseCall,
        job::{JobCall, JobLogCall},
        reachability::ReachabilityCall,
        test::{TestCloseCall, TestJoinCall, TestOpenCall, TestRunCall},
        trust::TrustCall,
    },
    context::{CallContext, UntypedCallContext},
    engines::{RdmaTestEngine, TcpTestEngine},
};

pub const CALL_TABLE: &[CallTableRow] = &[
    CallTableRow::of::<HelloCall>(),
    CallTableRow::of::<CollectCall>(),
    CallTableRow::of::<TrustCall>(),
    CallTableRow::of::<HomeLeaseCall>(),
    CallTableRow::of::<CablingCall>(),
    CallTableRow::of::<StopListeningCall>(),
    CallTableRow::of::<ChangeCall>(),
    CallTableRow::of::<ReachabilityCall>(),
    CallTableRow::of::<TestOpenCall<RdmaTestEngine>>(),
    CallTableRow::of::<TestJoinCall<RdmaTestEngine>>(),
    CallTableRow::of::<TestRunCall<RdmaTestEngine>>(),
    CallTableRow::of::<TestCloseCall<RdmaTestEngine>>(),
    CallTableRow::of::<CountersCall>(),
    CallTableRow::of::<JobCall>(),
    CallTableRow::of::<JobLogCall>(),
    CallTableRow::of::<ComparisonToolCall>(),
    CallTableRow::of::<TestOpenCall<TcpTestEngine>>(),
    CallTableRow::of::<TestJoinCall<TcpTestEngine>>(),
    CallTableRow::of::<TestRunCall<TcpTestEngine>>(),
    CallTableRow::of::<TestCloseCall<TcpTestEngine>>(),
];

/// A call by its name.
#[derive(Debug, Clone, Copy)]
pub struct CallTableRow {
    pub(crate) name: &'static str,
    pub(crate) run: CallFunction,
}

pub(crate) type CallFunction = fn(&[u8], &UntypedCallContext) -> Result<Vec<u8>, CallFailure>;

impl CallTableRow {
    pub const fn of<C: Call>() -> Self {
        Self {
            name: C::NAME,
            run: run::<C>,
        }
    }
}

/// Its own errors are a part of the answer.
fn run<C: Call>(ask: &[u8], context: &UntypedCallContext) -> Result<Vec<u8>, CallFailure> {
    let ask = serde_json::from_slice(ask).map_err(|error| CallFailure::Unreadable {
        why: error.to_string(),
    })?;
    encode(&C::run(ask, &CallContext::new(context)))
}

fn encode(answer: &impl Serialize) -> Result<Vec<u8>, CallFailure> {
    // What cannot be written as JSON does not exist among our answers.
    serde_json::to_vec(answer).map_err(|_| CallFailure::TooLong)
}
