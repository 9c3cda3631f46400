//! Jobs as their nodes tell of them, and their end. Nodes know all of it: whoever started a job may be gone.

use std::collections::BTreeSet;

use crosstie_agent::{JobCall, call};
use crosstie_launch::job_protocol::{JobReply, JobRequest, RankStatus, StoppedRank};
use crosstie_reach::SessionError;
use crosstie_report::launch::{JobsReport, StoppedJobs, StoppedNode};

use super::{ASK_TIMEOUT, LaunchError, STOP_TIMEOUT};
use crate::{Fleet, NodeError, NodesFailed};

/// Which jobs are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobChoice {
    Named(String),
    /// Where there is one alone.
    Only,
    All,
}

/// Every job, or the one that is named.
pub fn status(fleet: &Fleet, job: Option<&str>) -> JobsReport {
    let (ranks, failed) = ranks(fleet);
    let wanted = |rank: &RankStatus| job.is_none_or(|job| job == rank.job);
    let ranks = ranks.into_iter().filter(wanted).collect();
    JobsReport::new(ranks, failed.failures())
}

/// Ends jobs on all nodes that answer.
pub fn stop(fleet: &Fleet, choice: &JobChoice) -> Result<StoppedJobs, LaunchError> {
    let job = match choice {
        JobChoice::Named(job) => Some(job.clone()),
        JobChoice::All => None,
        JobChoice::Only => only(fleet)?,
    };
    Ok(stop_on(fleet, job.as_deref()))
}

/// `None` where there is none.
fn only(fleet: &Fleet) -> Result<Option<String>, LaunchError> {
    let names = names(fleet);
    match &names[..] {
        [] => Ok(None),
        [job] => Ok(Some(job.clone())),
        _ => Err(LaunchError::Several(names)),
    }
}

pub(super) fn names(fleet: &Fleet) -> Vec<String> {
    let (ranks, _) = ranks(fleet);
    let names: BTreeSet<String> = ranks.into_iter().map(|rank| rank.job).collect();
    names.into_iter().collect()
}

pub(super) fn stop_on(fleet: &Fleet, job: Option<&str>) -> StoppedJobs {
    let ask = JobRequest::Stop {
        job: job.map(str::to_owned),
    };
    let answers = fleet.call_together(STOP_TIMEOUT, move |_, session, _| {
        match call::<JobCall>(session, &ask, STOP_TIMEOUT, &mut |()| ())? {
            JobReply::Stopped { jobs } => Ok(jobs),
            _ => Err(NodeError::Session(SessionError::WrongAnswer)),
        }
    });
    let (stopped, failed) = divide(answers);
    let nodes = stopped
        .into_iter()
        .map(|(host, jobs): (String, Vec<StoppedRank>)| StoppedNode { host, jobs });
    StoppedJobs::new(nodes.collect(), failed.failures())
}

/// Of all jobs on all nodes, and the nodes that did not answer.
pub(super) fn ranks(fleet: &Fleet) -> (Vec<RankStatus>, NodesFailed) {
    let answers = fleet.call(ASK_TIMEOUT, |_, session, _| {
        match call::<JobCall>(session, &JobRequest::List, ASK_TIMEOUT, &mut |()| ())? {
            JobReply::Listed { ranks } => Ok(ranks),
            _ => Err(NodeError::Session(SessionError::WrongAnswer)),
        }
    });
    let (listed, failed) = divide(answers);
    let ranks = listed.into_iter().flat_map(|(_, ranks)| ranks);
    (ranks.collect(), failed)
}

fn divide<T>(answers: Vec<(String, Result<T, NodeError>)>) -> (Vec<(String, T)>, NodesFailed) {
    let mut good = Vec::new();
    let mut failed = Vec::new();
    for (name, answer) in answers {
        match answer {
            Ok(answer) => good.push((name, answer)),
            Err(error) => failed.push((name, error)),
        }
    }
    (good, NodesFailed(failed))
}
