//! When a job counts as ready: a server has answered twice the same, and RDMA counters have moved. /health is not believed.

use std::{
    net::SocketAddr,
    thread,
    time::{Duration, Instant},
};

use crosstie_agent::{JobCall, call};
use crosstie_launch::{
    job::Workload,
    job_protocol::{
        GenerateRequest, JobLogRequest, JobReply, JobRequest, LogStream, RankPhase, RankStatus,
    },
};
use crosstie_reach::SessionError;
use crosstie_report::launch::{LaunchOutcome, LaunchReport, LaunchedRank};

use super::{ASK_TIMEOUT, LaunchError, LaunchOptions, logs, status};
use crate::{Fleet, NodeError};

const POLL_INTERVAL: Duration = Duration::from_millis(700);
/// Ranks write down what they counted so often; a little more.
const COUNTERS_TIMEOUT: Duration = Duration::from_millis(2600);
/// For one answer of a server.
const GENERATE_TIMEOUT: Duration = Duration::from_secs(120);
const PROMPT: &str = "Once upon a time";
const TOKENS: u32 = 16;
/// Of a job that ends by itself, once it runs.
const WAIT_TIMEOUT: Duration = Duration::from_secs(30 * 24 * 3600);
/// Lines of a generation that was all that was wanted.
const ANSWER_LINES: u32 = 2000;
/// Of a job that failed.
const LAST_LINES: u32 = 4;

pub(super) struct ReadinessWait<'a> {
    pub(super) fleet: &'a Fleet,
    pub(super) places: &'a [usize],
    pub(super) job: &'a str,
    pub(super) options: &'a LaunchOptions,
    pub(super) serves: Option<SocketAddr>,
    pub(super) until: Instant,
}

/// Fills in what became of it.
pub(super) fn wait_until_ready(
    ready: &ReadinessWait<'_>,
    launched: &mut LaunchReport,
) -> Result<(), LaunchError> {
    let one_answer =
        matches!(&ready.options.workload, Workload::Llama(llama) if llama.prompt.is_some());
    let ranks = wait(ready, ready.until, |ranks| {
        ranks.iter().all(is_running) || is_over(ranks)
    })?;
    let ranks = if one_answer || ready.options.wait {
        let until = if one_answer {
            ready.until
        } else {
            Instant::now() + WAIT_TIMEOUT
        };
        wait(ready, until, is_over)?
    } else {
        ranks
    };
    if is_over(&ranks) {
        return ended(ready, &ranks, launched);
    }
    launched.ranks = counted(&ranks);
    launched.notes.extend(limits(&ranks));
    if let Some(address) = ready.serves {
        generate_twice(ready, address, launched)?;
    }
    Ok(())
}

fn is_running(rank: &RankStatus) -> bool {
    let phase = rank.state.as_ref().map(|state| state.phase);
    matches!(phase, Some(RankPhase::Running | RankPhase::Ended))
}

fn is_over(ranks: &[RankStatus]) -> bool {
    let has_ended = |rank: &RankStatus| {
        let state = rank.state.as_ref();
        state.is_some_and(|state| state.phase == RankPhase::Ended)
            || matches!(rank.unit.as_str(), "inactive" | "failed")
    };
    !ranks.is_empty() && ranks.iter().all(has_ended)
}

/// Until it is so. A node that does not answer once is asked again.
fn wait(
    ready: &ReadinessWait<'_>,
    until: Instant,
    is_so: impl Fn(&[RankStatus]) -> bool,
) -> Result<Vec<RankStatus>, LaunchError> {
    let mut failed_once = false;
    loop {
        let (ranks, failed) = status::ranks(ready.fleet);
        let own: Vec<RankStatus> = ranks
            .into_iter()
            .filter(|rank| rank.job == ready.job)
            .collect();
        if own.len() == ready.places.len() && is_so(&own) {
            return Ok(own);
        }
        if !failed.0.is_empty() && failed_once {
            return Err(LaunchError::Nodes(failed));
        }
        failed_once = !failed.0.is_empty();
        if Instant::now() >= until {
            let states = own.iter().map(|rank| {
                let phase = rank
                    .state
                    .as_ref()
                    .map(|state| format!("{:?}", state.phase));
                let host = rank.hosts.get(rank.rank as usize);
                format!(
                    "{} {}",
                    host.map_or("?", String::as_str),
                    phase.unwrap_or_else(|| rank.unit.clone()).to_lowercase()
                )
            });
            return Err(LaunchError::Late {
                job: ready.job.to_owned(),
                seconds: ready.options.start_timeout.as_secs(),
                state: states.collect::<Vec<_>>().join(", "),
            });
        }
        thread::sleep(POLL_INTERVAL);
    }
}

fn counted(ranks: &[RankStatus]) -> Vec<LaunchedRank> {
    let mut all: Vec<LaunchedRank> = ranks
        .iter()
        .map(|rank| LaunchedRank {
            rank: rank.rank,
            host: rank
                .hosts
                .get(rank.rank as usize)
                .cloned()
                .unwrap_or_default(),
            rdma_packets: rank.state.as_ref().map_or(0, |state| state.rdma_packets),
        })
        .collect();
    all.sort_by_key(|rank| rank.rank);
    all
}

/// The first rank's word, or that of any other, or that it left none.
fn ended(
    ready: &ReadinessWait<'_>,
    ranks: &[RankStatus],
    launched: &mut LaunchReport,
) -> Result<(), LaunchError> {
    let mut ordered: Vec<&RankStatus> = ranks.iter().collect();
    ordered.sort_by_key(|rank| rank.rank);
    let words = ordered
        .iter()
        .find_map(|rank| rank.state.as_ref()?.ended.clone());
    let (ok, why) = words.map_or((false, "a rank was killed".to_owned()), |ended| {
        (ended.ok, ended.why)
    });
    launched.outcome = if ok {
        LaunchOutcome::Ended
    } else {
        LaunchOutcome::Failed
    };
    launched.why = Some(why.clone());
    launched.ranks = counted(ranks);
    let Workload::Llama(llama) = &ready.options.workload else {
        return Ok(());
    };
    if !ok || llama.prompt.is_none() {
        let printed = printed(ready, LogStream::All, LAST_LINES).unwrap_or_default();
        let last: Vec<&str> = printed.lines().collect();
        return Err(LaunchError::Ended {
            job: ready.job.to_owned(),
            why: format!("{why}; its head printed last: {}", last.join(" | ")),
        });
    }
    let answer = printed(ready, LogStream::Answer, ANSWER_LINES);
    launched.generated = answer.map(|text| text.trim().to_owned());
    check_rdma_used(ready, ranks)
}

/// What the head printed.
fn printed(ready: &ReadinessWait<'_>, stream: LogStream, lines: u32) -> Option<String> {
    let head = *ready.places.first()?;
    let ask = JobLogRequest {
        job: ready.job.to_owned(),
        stream,
        lines,
        follow: false,
    };
    let bytes = logs::of_node(ready.fleet, head, ask).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Packets on the fabric's RDMA counters of every node, or why there were none.
fn check_rdma_used(ready: &ReadinessWait<'_>, ranks: &[RankStatus]) -> Result<(), LaunchError> {
    if !ready.options.workload.proves_rdma() {
        return Ok(());
    }
    let silent = counted(ranks)
        .into_iter()
        .find(|rank| rank.rdma_packets == 0);
    let Some(silent) = silent else {
        return Ok(());
    };
    Err(LaunchError::NotRdma {
        job: ready.job.to_owned(),
        why: format!(
            "no packet on the RDMA counters of {}{}",
            silent.host,
            limited(ranks)
        ),
    })
}

/// The usual cause, where it is seen: systemd gives less than it is asked for without a word where it may not give more itself.
fn limits(ranks: &[RankStatus]) -> Vec<String> {
    let limits = ranks.iter().filter_map(|rank| {
        let limit = rank.state.as_ref()?.memlock?;
        let host = rank.hosts.get(rank.rank as usize)?;
        let kib = limit / 1024;
        Some(format!("on {host} it may lock {kib} KiB of memory alone"))
    });
    limits.collect()
}

fn limited(ranks: &[RankStatus]) -> String {
    let limits = limits(ranks);
    if limits.is_empty() {
        return String::new();
    }
    format!(", and {}", limits.join(", and "))
}

fn generate_twice(
    ready: &ReadinessWait<'_>,
    address: SocketAddr,
    launched: &mut LaunchReport,
) -> Result<(), LaunchError> {
    let before = launched.ranks.clone();
    // A server listens long before its model is loaded.
    let first = loop {
        match generate(ready, address) {
            Ok(text) => break text,
            Err(error) if Instant::now() >= ready.until => {
                return Err(LaunchError::Ended {
                    job: ready.job.to_owned(),
                    why: format!("its server generates nothing: {}", error.line()),
                });
            }
            Err(_) => thread::sleep(POLL_INTERVAL),
        }
        let (ranks, _) = status::ranks(ready.fleet);
        let own = ranks.iter().filter(|rank| rank.job == ready.job);
        let own: Vec<RankStatus> = own.cloned().collect();
        if is_over(&own) {
            return ended(ready, &own, launched);
        }
    };
    let second = generate(ready, address).map_err(|error| LaunchError::Ended {
        job: ready.job.to_owned(),
        why: format!("its server answered once: {}", error.line()),
    })?;
    if first != second {
        return Err(LaunchError::NotTheSame {
            job: ready.job.to_owned(),
            first,
            second,
        });
    }
    launched.generated = Some(first);
    thread::sleep(COUNTERS_TIMEOUT);
    let (ranks, _) = status::ranks(ready.fleet);
    let own = ranks.into_iter().filter(|rank| rank.job == ready.job);
    let own: Vec<RankStatus> = own.collect();
    launched.ranks = counted(&own);
    if !ready.options.workload.proves_rdma() {
        return Ok(());
    }
    let quiet = launched.ranks.iter().zip(&before);
    let mut quiet = quiet.filter(|(now, before)| now.rdma_packets <= before.rdma_packets);
    match quiet.next() {
        None => Ok(()),
        Some((now, _)) => Err(LaunchError::NotRdma {
            job: ready.job.to_owned(),
            why: format!(
                "no packet on the RDMA counters of {} while it answered{}",
                now.host,
                limited(&own)
            ),
        }),
    }
}

/// On the head, whose loopback address it may be.
fn generate(ready: &ReadinessWait<'_>, address: SocketAddr) -> Result<String, NodeError> {
    let ask = JobRequest::Generate(GenerateRequest {
        address,
        prompt: PROMPT.to_owned(),
        tokens: TOKENS,
        seconds: u32::try_from(GENERATE_TIMEOUT.as_secs()).unwrap_or(u32::MAX),
    });
    let head = ready.places.first().copied().unwrap_or(0);
    let limit = GENERATE_TIMEOUT + ASK_TIMEOUT;
    let answers = ready.fleet.call(limit, move |place, session, _| {
        if place != head {
            return Ok(None);
        }
        match call::<JobCall>(session, &ask, limit, &mut |()| ())? {
            JobReply::Generated { text } => Ok(Some(text)),
            _ => Err(NodeError::Session(SessionError::WrongAnswer)),
        }
    });
    let answer = answers.into_iter().nth(head).map(|(_, answer)| answer);
    answer
        .unwrap_or(Err(NodeError::Busy))?
        .ok_or(NodeError::Busy)
}
