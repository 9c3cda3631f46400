//! Every port speaks and listens, on all nodes at once, until nothing more is to be heard.
//!
//! Nodes begin at different times, and on a busy machine far apart. So the time counts from when the last one listens; and
//! all end as soon as every port was heard by those on its wire.

use std::{
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use crosstie_agent::{CallError, NodeCalls, StopListeningCall, call};
use crosstie_fabric::{
    cabling::{
        self, CablingKey, CablingNote, CablingReply, CablingRequest, CablingToken, PortReception,
        SurveyedNode, is_complete,
    },
    cages,
};
use crosstie_model::{ClusterSpec, Facts};
use crosstie_node::cabling::CablingError;
use crosstie_reach::{NodeStage, Session};

use crate::{
    Fleet, NodeFacts, NodesFailed,
    random::{NoRandomNumbers, random},
};

/// Where every link is up.
const LISTEN_TIMEOUT: Duration = Duration::from_secs(6);

/// Where links come up first: a 200 Gb/s port with a copper cable takes up to ten seconds.
const LINK_UP_LISTEN_TIMEOUT: Duration = Duration::from_secs(15);

/// For agents to look at their machines before they listen.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// For an agent to restore links.
const RESTORE_TIMEOUT: Duration = Duration::from_secs(30);

/// With everything heard, for what comes late: ten frames of each port. A switch may carry more than was heard of it.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(1);

/// For an agent to take note of the end.
const END_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Debug, thiserror::Error)]
pub enum CablingListenError {
    #[error("no node has an RDMA port on Ethernet that can say its name")]
    NoPorts(#[source] Option<NoPortReasons>),
    #[error("a node could not be asked")]
    NotAsked(#[source] NodesFailed),
    #[error("more nodes than one run can tell apart")]
    TooManyNodes,
    #[error(transparent)]
    NoRandomNumbers(#[from] NoRandomNumbers),
}

/// What there is to say of each, a line each.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NoPortReasons(String);

/// For `seconds` at most, or as long as it usually takes.
pub(crate) fn listen(
    fleet: &Fleet,
    nodes: &[NodeFacts],
    spec: Option<&ClusterSpec>,
    seconds: Option<u32>,
) -> Result<(Vec<SurveyedNode>, Vec<CablingNote>), CablingListenError> {
    let mut remarks = Vec::new();
    let mut surveys = Vec::new();
    for node in nodes {
        let (survey, left_out) =
            cabling::interfaces_to_probe(&node.facts, &cages(&node.facts, spec));
        surveys.push(survey);
        remarks.extend(left_out);
    }
    if surveys.iter().all(|survey| survey.ports.is_empty()) {
        let why: Vec<String> = remarks.iter().map(ToString::to_string).collect();
        let why = (!why.is_empty()).then(|| NoPortReasons(why.join("\n")));
        return Err(CablingListenError::NoPorts(why));
    }
    let duration = seconds.map_or_else(
        || listening(nodes, &surveys),
        |seconds| Duration::from_secs(seconds.into()),
    );
    let probes = probes(&surveys, START_TIMEOUT + duration)?;
    let deadline = START_TIMEOUT + duration + RESTORE_TIMEOUT;
    let gathering = Arc::new(Gathering::new(probes.len(), duration));
    let answers = fleet.call_together(deadline, move |index, session, progress| {
        let listened = gathering.listen(index, &probes[index], session, deadline, progress);
        Ok(listened?)
    });
    let mut surveyed = Vec::new();
    let mut failed = Vec::new();
    for (survey, (destination, answer)) in surveys.into_iter().zip(answers) {
        match answer {
            Ok(listened) => {
                let (survey, more) = cabling::survey_node(survey, bounded(listened));
                surveyed.push(survey);
                remarks.extend(more);
            }
            Err(error) => failed.push((destination, error)),
        }
    }
    if failed.is_empty() {
        return Ok((surveyed, remarks));
    }
    Err(CablingListenError::NotAsked(NodesFailed(failed)))
}

/// What the nodes of one run hear, while they do.
struct Gathering {
    duration: Duration,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// Absent before a node listens.
    heard: Vec<Option<Vec<PortReception>>>,
    /// Since when all of them listen.
    began: Option<Instant>,
    /// Since when they hear the same senders.
    unchanged: Instant,
    /// A node does not listen any more.
    over: bool,
}

impl Gathering {
    fn new(nodes: usize, duration: Duration) -> Self {
        Self {
            duration,
            state: Mutex::new(State {
                heard: vec![None; nodes],
                began: None,
                unchanged: Instant::now(),
                over: false,
            }),
            changed: Condvar::new(),
        }
    }

    /// One node's part.
    fn listen(
        &self,
        index: usize,
        probe: &CablingRequest,
        session: &dyn Session,
        deadline: Duration,
        progress: &dyn Fn(NodeStage),
    ) -> Result<CablingReply, CallError<CablingError>> {
        let answered = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                self.wait();
                if !answered.load(Ordering::SeqCst) {
                    // Where it is not heard, the node ends when its time is up.
                    let _ = call::<StopListeningCall>(session, &(), END_TIMEOUT, &mut |()| ());
                }
            });
            let tell = &mut |ports| self.tell(index, ports);
            let answer = session.cabling(probe, deadline, progress, tell);
            answered.store(true, Ordering::SeqCst);
            self.state().over = true;
            self.changed.notify_all();
            answer
        })
    }

    fn tell(&self, index: usize, ports: Vec<PortReception>) {
        let mut state = self.state();
        let now = Instant::now();
        let Some(slot) = state.heard.get_mut(index) else {
            return;
        };
        let is_new = slot.as_ref().map(|known| senders(known)) != Some(senders(&ports));
        *slot = Some(ports);
        if is_new {
            state.unchanged = now;
        }
        if state.began.is_none() && state.heard.iter().all(Option::is_some) {
            state.began = Some(now);
        }
        self.changed.notify_all();
    }

    /// Until nothing more is to be heard, or the time is up, or a node has ended.
    fn wait(&self) {
        let mut state = self.state();
        while !state.over {
            let left = match state.ends(self.duration) {
                Some(until) => until.saturating_duration_since(Instant::now()),
                // Somebody does not listen yet. Its call has a deadline.
                None => START_TIMEOUT,
            };
            if left.is_zero() {
                return;
            }
            let waited = self.changed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// As it stands now.
    fn ends(&self, duration: Duration) -> Option<Instant> {
        let latest = self.began? + duration;
        let heard: Option<Vec<Vec<PortReception>>> = self.heard.iter().cloned().collect();
        let settled = self.began?.max(self.unchanged) + SETTLE_TIMEOUT;
        Some(if heard.is_some_and(|heard| is_complete(&heard)) {
            settled.min(latest)
        } else {
            latest
        })
    }
}

/// Who was heard where, and which ports have a carrier.
fn senders(ports: &[PortReception]) -> Vec<(Option<bool>, Vec<cabling::FrameSender>)> {
    let senders = |port: &PortReception| port.heard.iter().map(|heard| heard.sender).collect();
    let ports = ports.iter();
    ports.map(|port| (port.carrier, senders(port))).collect()
}

/// A node is not believed to have much to say.
fn bounded(mut listened: CablingReply) -> CablingReply {
    const MAX_TEXT_CHARACTERS: usize = 300;
    let cut = |text: &mut String| *text = text.chars().take(MAX_TEXT_CHARACTERS).collect();
    for list in [&mut listened.restored, &mut listened.left] {
        list.truncate(64);
        list.iter_mut().for_each(cut);
    }
    listened
        .ports
        .iter_mut()
        .filter_map(|port| port.problem.as_mut())
        .for_each(cut);
    listened
}

fn listening(nodes: &[NodeFacts], surveys: &[SurveyedNode]) -> Duration {
    let is_down = |facts: &Facts, name: &str| {
        let interface = facts.network.interface(name);
        interface.is_some_and(|interface| interface.up.known() == Some(&false))
    };
    let any_down = nodes.iter().zip(surveys).any(|(node, survey)| {
        survey
            .ports
            .iter()
            .any(|port| is_down(&node.facts, &port.interface))
    });
    if any_down {
        LINK_UP_LISTEN_TIMEOUT
    } else {
        LISTEN_TIMEOUT
    }
}

fn probes(
    surveys: &[SurveyedNode],
    duration: Duration,
) -> Result<Vec<CablingRequest>, CablingListenError> {
    let (token, key) = (CablingToken(random()?), CablingKey(random()?));
    let probe = |(index, survey): (usize, &SurveyedNode)| {
        let ports = survey.ports.iter();
        Ok(CablingRequest {
            token,
            key: key.clone(),
            node: u16::try_from(index).map_err(|_| CablingListenError::TooManyNodes)?,
            interfaces: ports.map(|port| port.interface.clone()).collect(),
            listen_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
        })
    };
    surveys.iter().enumerate().map(probe).collect()
}

#[cfg(test)]
mod tests {
    use crosstie_fabric::cabling::{FrameSender, FramesFrom};

    use super::*;

    fn hears(node: Option<u16>) -> Vec<PortReception> {
        let heard = node.map(|node| FramesFrom {
            sender: FrameSender { node, port: 0 },
            frames: 1,
        });
        vec![PortReception {
            carrier_before: Some(true),
            carrier: Some(true),
            heard: heard.into_iter().collect(),
            ..PortReception::default()
        }]
    }

    #[test]
    fn the_time_counts_from_when_the_last_node_listens() {
        let duration = Duration::from_secs(6);
        let gathering = Gathering::new(2, duration);
        gathering.tell(0, hears(None));
        assert_eq!(gathering.state().ends(duration), None);
        let last = Instant::now();
        gathering.tell(1, hears(None));
        let ends = gathering.state().ends(duration).unwrap();
        assert!(ends >= last + duration);
    }

    #[test]
    fn it_is_over_soon_after_everybody_was_heard() {
        let duration = Duration::from_secs(600);
        let gathering = Gathering::new(2, duration);
        gathering.tell(0, hears(Some(1)));
        gathering.tell(1, hears(None));
        let ends = |gathering: &Gathering| gathering.state().ends(duration).unwrap();
        // One direction alone is waited for until the end.
        assert!(ends(&gathering) > Instant::now() + SETTLE_TIMEOUT * 2);
        gathering.tell(1, hears(Some(0)));
        let settled = ends(&gathering);
        assert!(settled <= Instant::now() + SETTLE_TIMEOUT);
        // The same once more changes nothing.
        gathering.tell(0, hears(Some(1)));
        assert_eq!(ends(&gathering), settled);
        gathering.wait();
        assert!(Instant::now() >= settled);
    }

    #[test]
    fn nobody_waits_for_a_run_that_has_ended() {
        let gathering = Gathering::new(2, Duration::from_secs(600));
        gathering.tell(0, hears(None));
        gathering.state().over = true;
        gathering.wait();
    }
}
