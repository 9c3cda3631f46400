//! What is wrong with a job that runs: ranks that ended, are silent, stopped, or behind a dark cable.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;

use crate::job_protocol::{RankPhase, RankState, RankStatus};

/// Of a rank that says nothing for longer, the head tells.
pub const SILENCE_TIMEOUT: Duration = Duration::from_secs(8);
/// A cable that comes back at once was only renegotiated.
const NO_CARRIER_TIMEOUT: Duration = Duration::from_secs(4);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct JobProblem {
    pub host: String,
    pub rank: u32,
    pub what: String,
}

/// Every trouble of one job, the causes before what follows from them. `unanswered` are hosts with no answer at all.
pub fn troubles(ranks: &[RankStatus], unanswered: &[(String, String)]) -> Vec<JobProblem> {
    let mut all = Vec::new();
    for status in ranks {
        let Some(state) = &status.state else {
            continue;
        };
        for (cable, since) in &state.dark {
            let seconds = status.now.saturating_sub(*since);
            if seconds >= NO_CARRIER_TIMEOUT.as_secs() {
                let what = format!("the cable {cable} has been dark for {seconds} s");
                all.push(trouble(status, what));
            }
        }
    }
    for status in ranks {
        all.extend(of_rank(status));
    }
    for (host, why) in unanswered {
        let rank = ranks.iter().find_map(|status| {
            let place = status.hosts.iter().position(|name| name == host)?;
            u32::try_from(place).ok()
        });
        all.push(JobProblem {
            host: host.clone(),
            rank: rank.unwrap_or(0),
            what: format!("the node does not answer: {why}"),
        });
    }
    all
}

fn trouble(status: &RankStatus, what: String) -> JobProblem {
    let host = status.hosts.get(status.rank as usize);
    JobProblem {
        host: host.cloned().unwrap_or_default(),
        rank: status.rank,
        what,
    }
}

fn of_rank(status: &RankStatus) -> Vec<JobProblem> {
    let mut all = Vec::new();
    let Some(state) = &status.state else {
        let what = format!(
            "it was never started, or was killed before its first word (unit: {})",
            status.unit
        );
        return vec![trouble(status, what)];
    };
    if let Some(ended) = &state.ended {
        if !ended.ok {
            all.push(trouble(status, format!("ended: {}", ended.why)));
        }
        return all;
    }
    if is_gone(status, state) {
        let what = format!("its unit is {}, and it left no word", status.unit);
        all.push(trouble(status, what));
        return all;
    }
    if let Some(since) = state.stopped {
        let seconds = status.now.saturating_sub(since);
        all.push(trouble(
            status,
            format!("a process of it is stopped (SIGSTOP) since {seconds} s"),
        ));
    }
    for (rank, last) in &state.silent {
        let seconds = status.now.saturating_sub(*last);
        let host = status.hosts.get(*rank as usize).cloned();
        all.push(JobProblem {
            host: host.unwrap_or_default(),
            rank: *rank,
            what: format!("not heard of for {seconds} s"),
        });
    }
    all
}

fn is_gone(status: &RankStatus, state: &RankState) -> bool {
    state.phase != RankPhase::Ended && !matches!(status.unit.as_str(), "active" | "activating")
}

/// What `--stop-on-hang` ends a job for; the rank itself looks.
pub fn is_hung(state: &RankState, now: u64, after: u64) -> Option<String> {
    for (cable, since) in &state.dark {
        if now.saturating_sub(*since) >= after {
            return Some(format!("the cable {cable} is dark"));
        }
    }
    let since = state.stopped?;
    (now.saturating_sub(since) >= after).then(|| "a process of it is stopped (SIGSTOP)".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{job::LaunchEngine, job_protocol::RankEnd};

    fn status(rank: u32) -> RankStatus {
        RankStatus {
            job: "llama-1".to_owned(),
            cluster: "sparks".to_owned(),
            engine: LaunchEngine::Llama,
            rank,
            hosts: vec!["spark-a".to_owned(), "spark-b".to_owned()],
            serves: None,
            created: 0,
            unit: "active".to_owned(),
            is_system_unit: true,
            state: Some(RankState {
                phase: RankPhase::Running,
                since: 0,
                ended: None,
                memlock: None,
                log_bytes: 0,
                rdma_packets: 0,
                progress_at: 0,
                cpu_microseconds: 0,
                dark: Vec::new(),
                stopped: None,
                silent: Vec::new(),
            }),
            now: 100,
        }
    }

    #[test]
    fn the_cause_comes_first() {
        let mut ranks = [status(0), status(1)];
        assert_eq!(troubles(&ranks, &[]), []);
        if let Some(state) = &mut ranks[0].state {
            state.silent.push((1, 60));
            let cable = "spark-a:p0 ↔ spark-b:p0".to_owned();
            state.dark.push((cable, 58));
            assert!(is_hung(state, 100, 40).is_some());
            assert!(is_hung(state, 100, 43).is_none());
        }
        if let Some(state) = &mut ranks[1].state {
            state.stopped = Some(95);
        }
        let lost = [("spark-b".to_owned(), "no route".to_owned())];
        let all = troubles(&ranks, &lost);
        let lines: Vec<String> = all
            .iter()
            .map(|one| format!("rank {} on {}: {}", one.rank, one.host, one.what))
            .collect();
        assert_eq!(
            lines,
            [
                "rank 0 on spark-a: the cable spark-a:p0 ↔ spark-b:p0 has been dark for 42 s",
                "rank 1 on spark-b: not heard of for 40 s",
                "rank 1 on spark-b: a process of it is stopped (SIGSTOP) since 5 s",
                "rank 1 on spark-b: the node does not answer: no route",
            ]
        );
    }

    #[test]
    fn a_rank_without_a_word_is_told() {
        let mut gone = status(1);
        gone.unit = "inactive".to_owned();
        assert!(
            troubles(&[gone.clone()], &[])[0]
                .what
                .contains("left no word")
        );
        if let Some(state) = &mut gone.state {
            state.phase = RankPhase::Ended;
            let why = "rank 0 on spark-a: exit status 0".to_owned();
            state.ended = Some(RankEnd { ok: true, why });
        }
        assert_eq!(troubles(&[gone.clone()], &[]), []);
        gone.state = None;
        assert!(troubles(&[gone], &[])[0].what.contains("never started"));
    }
}
