//! Jobs on the node: looked for, started, listed, stopped; and what a rank printed.

use crosstie_jobs::{JobLogError, follow, handle_request};
use crosstie_launch::job_protocol::{JobCallError, JobLogRequest, JobReply, JobRequest};

use crate::{Call, CallContext};

pub struct JobCall;

impl Call for JobCall {
    const NAME: &'static str = "job";
    type Request = JobRequest;
    type Event = ();
    type Answer = JobReply;
    type Error = JobCallError;

    fn run(ask: JobRequest, _: &CallContext<'_, ()>) -> Result<JobReply, JobCallError> {
        handle_request(&ask)
    }
}

/// Its bytes are a stream.
pub struct JobLogCall;

impl Call for JobLogCall {
    const NAME: &'static str = "job-log";
    type Request = JobLogRequest;
    type Event = ();
    type Answer = ();
    type Error = JobLogError;

    fn run(ask: JobLogRequest, context: &CallContext<'_, ()>) -> Result<(), JobLogError> {
        follow(
            &ask,
            || context.stop.is_set(),
            |bytes| context.stream(bytes),
        )
    }
}
