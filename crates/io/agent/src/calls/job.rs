//! Jobs on the node: looked for, started, listed, stopped; and what a rank printed.

use crosstie_jobs::{LogError, answer, follow};
use crosstie_launch::wire::{JobAnswer, JobAsk, JobFailure, LogAsk};

use crate::{Call, Context};

pub struct Job;

impl Call for Job {
    const NAME: &'static str = "job";
    type Ask = JobAsk;
    type Event = ();
    type Answer = JobAnswer;
    type Error = JobFailure;

    fn run(ask: JobAsk, _: &Context<'_, ()>) -> Result<JobAnswer, JobFailure> {
        answer(&ask)
    }
}

/// Its bytes are a stream.
pub struct JobLog;

impl Call for JobLog {
    const NAME: &'static str = "job-log";
    type Ask = LogAsk;
    type Event = ();
    type Answer = ();
    type Error = LogError;

    fn run(ask: LogAsk, context: &Context<'_, ()>) -> Result<(), LogError> {
        follow(
            &ask,
            || context.stop.is_set(),
            |bytes| context.stream(bytes),
        )
    }
}
