//! RDMA tests between nodes: every end opens, all are told of their peers, all begin together.
//!
//! ```text
//! open ─▶ endpoints of both ends ─▶ join ─▶ all ends of all tests ─▶ go ─▶ close
//! ```

mod meeting;

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        mpsc::{self, Sender},
    },
    thread,
    time::Duration,
};

use crosstie_agent::{
    CallError, Conditions, JoinRequest, RdmaClose, RdmaError, RdmaGo, RdmaJoin, RdmaOpen, call,
};
use crosstie_rdma::{Figures, OpenRequest, Progress, Role, Share};
use crosstie_reach::{Session, Stage};

use crate::{Fleet, NodeError};
use meeting::{Meeting, PeerFailed};

/// An emulated node takes seconds to start a program and to make queue pairs.
const OPEN_TIMEOUT: Duration = Duration::from_secs(40);
const JOIN_TIMEOUT: Duration = Duration::from_secs(30);
const CLOSE_TIMEOUT: Duration = Duration::from_secs(15);
/// Beside what the test itself takes.
const GO_MARGIN: Duration = Duration::from_secs(15);

/// One end of a test.
#[derive(Debug, Clone)]
pub struct End {
    /// Its place in the fleet.
    pub node: usize,
    /// Role and share are set by [`measure`].
    pub request: OpenRequest,
}

/// `near` sends and measures.
#[derive(Debug, Clone)]
pub struct PairTest {
    pub near: End,
    pub far: End,
    /// `far` does so, too.
    pub both_send: bool,
}

/// What a test has shown, of both its ends.
#[derive(Debug, Clone)]
pub struct Measured {
    pub near: EndResult,
    pub far: EndResult,
}

#[derive(Debug, Clone)]
pub struct EndResult {
    /// [`Figures::Responded`] of an end that did not send.
    pub figures: Figures,
    pub conditions: Conditions,
}

#[derive(Debug, Clone, thiserror::Error)]
pub enum MeasureError {
    #[error("{node}{}: {source}", with_peer(peer.as_ref()))]
    Rdma {
        node: String,
        /// Where it may be the peer's fault.
        peer: Option<String>,
        source: CallError<RdmaError>,
    },
    #[error("{node}: {source}")]
    Node { node: String, source: NodeError },
    #[error("{node}: its peer was not ready in time")]
    Late { node: String },
    /// Either may be what made the other fail.
    #[error("{near}; {far}")]
    BothEnds { near: Box<Self>, far: Box<Self> },
}

fn with_peer(peer: Option<&String>) -> String {
    peer.map_or_else(String::new, |peer| format!(" with {peer}"))
}

impl MeasureError {
    /// Whether a node does not answer any more: nothing can be measured with it.
    pub fn is_lost(&self) -> bool {
        match self {
            Self::Node { .. } => true,
            Self::Rdma { source, .. } => matches!(source, CallError::Session(_)),
            Self::Late { .. } => false,
            Self::BothEnds { near, far } => near.is_lost() || far.is_lost(),
        }
    }
}

/// Why one end has no result of its own.
enum Failed {
    Rdma(CallError<RdmaError>),
    /// The other end tells why.
    Peer(PeerFailed),
}

/// All tests at once, each with its figures or why it has none. Every wait has a deadline, and a node that fails holds up
/// its own tests only.
pub fn measure(fleet: &Fleet, tests: &[PairTest]) -> Vec<Result<Measured, MeasureError>> {
    let shared: Arc<[PairTest]> = tests.to_vec().into();
    let meeting = Arc::new(Meeting::new(tests.len()));
    let limit = longest(tests);
    let (work_tests, work_meeting) = (Arc::clone(&shared), Arc::clone(&meeting));
    let answers = fleet.call_together(limit, move |node, session, progress| {
        Ok(of_node(node, session, &work_tests, &work_meeting, progress))
    });
    let names: Vec<String> = answers.iter().map(|(name, _)| name.clone()).collect();
    let mut results: Vec<[Told; 2]> = tests.iter().map(|_| [None, None]).collect();
    for (node, (name, answer)) in answers.into_iter().enumerate() {
        match answer {
            Ok(ends) => {
                for (test, side, result) in ends {
                    let test_ends = [&shared[test].near, &shared[test].far];
                    let peer = names.get(test_ends[1 - side].node).cloned();
                    let failed = |failed| failed_at(&name, peer, failed);
                    results[test][side] = Some(result.map_err(failed));
                }
            }
            Err(source) => {
                for (test, side) in ends_of(node, &shared) {
                    let (node, source) = (name.clone(), source.clone());
                    results[test][side] = Some(Err(MeasureError::Node { node, source }));
                }
            }
        }
    }
    results.into_iter().map(of_both).collect()
}

/// How long all of them take at most: whatever happens, there is a result or an error by then.
pub fn longest(tests: &[PairTest]) -> Duration {
    let longest = tests.iter().map(|test| duration(&test.near.request)).max();
    OPEN_TIMEOUT + JOIN_TIMEOUT + CLOSE_TIMEOUT + longest.unwrap_or_default()
}

/// What one end says of its test, once it does.
type Told = Option<Result<EndResult, MeasureError>>;

/// What both ends have; or why there is nothing, from whichever end knows it first hand.
fn of_both([near, far]: [Told; 2]) -> Result<Measured, MeasureError> {
    let late = || {
        Err(MeasureError::Late {
            node: "a node".to_owned(),
        })
    };
    let near = near.unwrap_or_else(late);
    let far = far.unwrap_or_else(late);
    match (near, far) {
        (Ok(near), Ok(far)) => Ok(Measured { near, far }),
        (Err(near @ MeasureError::Rdma { .. }), Err(far @ MeasureError::Rdma { .. })) => {
            let (near, far) = (Box::new(near), Box::new(far));
            Err(MeasureError::BothEnds { near, far })
        }
        // A node that is gone explains why the other hears nothing of it.
        (_, Err(error @ MeasureError::Node { .. }))
        | (Ok(_) | Err(MeasureError::Late { .. }), Err(error))
        | (Err(error), _) => Err(error),
    }
}

fn failed_at(node: &str, peer: Option<String>, failed: Failed) -> MeasureError {
    let node = node.to_owned();
    match failed {
        Failed::Rdma(source) => {
            let concerns_peer = matches!(
                source,
                CallError::Call(RdmaError::Join { .. } | RdmaError::Go { .. })
            );
            let peer = peer.filter(|_| concerns_peer);
            MeasureError::Rdma { node, peer, source }
        }
        Failed::Peer(PeerFailed) => MeasureError::Late { node },
    }
}

/// Tests that the node takes part in, and on which side.
fn ends_of(node: usize, tests: &[PairTest]) -> Vec<(usize, usize)> {
    let each = tests.iter().enumerate();
    each.flat_map(|(index, test)| {
        let sides = [&test.near, &test.far].into_iter().enumerate();
        sides
            .filter(move |(_, end)| end.node == node)
            .map(move |(side, _)| (index, side))
    })
    .collect()
}

type OfNode = (usize, usize, Result<EndResult, Failed>);

/// All ends of one node, beside each other.
fn of_node(
    node: usize,
    session: &dyn Session,
    tests: &[PairTest],
    meeting: &Meeting,
    progress: &dyn Fn(Stage),
) -> Vec<OfNode> {
    progress(Stage::Measuring { megabits: 0 });
    thread::scope(|scope| {
        let (sender, rates) = mpsc::channel();
        let own = ends_of(node, tests);
        let count = u16::try_from(own.len()).unwrap_or(u16::MAX);
        let ends: Vec<_> = (0..)
            .zip(own)
            .map(|(place, (index, side))| {
                let sender = sender.clone();
                let request = request_of(
                    &tests[index],
                    side,
                    Share {
                        index: place,
                        count,
                    },
                );
                let work = move || one_end(session, &request, index, side, meeting, &sender);
                (index, side, scope.spawn(work))
            })
            .collect();
        drop(sender);
        // Until the last end has ended.
        let mut latest = BTreeMap::new();
        for (index, megabits) in rates {
            latest.insert(index, megabits);
            let megabits = latest.values().sum();
            progress(Stage::Measuring { megabits });
        }
        let results = ends.into_iter().map(|(index, side, thread)| {
            let result = thread.join().unwrap_or(Err(Failed::Peer(PeerFailed)));
            (index, side, result)
        });
        results.collect()
    })
}

fn request_of(test: &PairTest, side: usize, share: Share) -> OpenRequest {
    let (end, role) = match side {
        0 => (&test.near, Role::Initiator),
        _ => (&test.far, Role::Responder),
    };
    OpenRequest {
        role: if test.both_send { Role::Both } else { role },
        share,
        ..end.request.clone()
    }
}

fn one_end(
    session: &dyn Session,
    request: &OpenRequest,
    index: usize,
    side: usize,
    meeting: &Meeting,
    rates: &Sender<(usize, u64)>,
) -> Result<EndResult, Failed> {
    // However it ends, nobody waits for this end any longer.
    let place = meeting.enter(index, side);
    let opened = call::<RdmaOpen>(session, request, OPEN_TIMEOUT, &mut |()| ());
    let opened = opened.map_err(Failed::Rdma)?;
    let run = || {
        place.tell(opened.offer);
        let peer = place.peer(OPEN_TIMEOUT).map_err(Failed::Peer)?;
        let join = JoinRequest {
            test: opened.test,
            peer,
        };
        call::<RdmaJoin>(session, &join, JOIN_TIMEOUT, &mut |()| ()).map_err(Failed::Rdma)?;
        place
            .joined(OPEN_TIMEOUT + JOIN_TIMEOUT)
            .map_err(Failed::Peer)?;
        let time = duration(request);
        // What is written to or read from needs no program.
        if request.role == Role::Responder && !request.has_working_responder() {
            place.wait_for_peer(time);
            return Ok(Figures::Responded);
        }
        let told = &mut |progress: Progress| {
            let megabits = progress.bytes * 8000 / progress.elapsed_nanoseconds.max(1);
            // Nobody is left to draw it, at worst.
            let _ = rates.send((index, megabits));
        };
        let figures = call::<RdmaGo>(session, &opened.test, time, told).map_err(Failed::Rdma)?;
        place.done();
        if request.role == Role::Both {
            // It may still be writing to this end's memory.
            place.wait_for_peer(time);
        }
        Ok(figures)
    };
    let result = run();
    // Where it cannot be said any more, the worker ends with the session.
    let _ = call::<RdmaClose>(session, &opened.test, CLOSE_TIMEOUT, &mut |()| ());
    Ok(EndResult {
        figures: result?,
        conditions: opened.conditions,
    })
}

/// Until its figures must be there.
fn duration(request: &OpenRequest) -> Duration {
    request.longest() + GO_MARGIN
}

#[cfg(test)]
mod tests {
    use crosstie_fabric::placement::Placement;
    use crosstie_reach::SessionError;

    use super::*;

    fn failed(why: fn(String) -> RdmaError) -> MeasureError {
        let source = CallError::Call(why("silence".to_owned()));
        failed_at("spark-a", Some("spark-b".to_owned()), Failed::Rdma(source))
    }

    fn done() -> EndResult {
        let placement = Placement {
            processor: None,
            near_card: true,
            is_short: false,
        };
        EndResult {
            figures: Figures::Responded,
            conditions: Conditions {
                placement,
                is_pinned: true,
                memory_cap: None,
            },
        }
    }

    #[test]
    fn an_error_names_the_peer_where_it_may_be_the_peers_fault() {
        let went_wrong = failed(|why| RdmaError::Go { why });
        assert_eq!(
            went_wrong.to_string(),
            "spark-a with spark-b: the RDMA test failed: silence"
        );
        let own = failed(|why| RdmaError::Open { why });
        assert_eq!(
            own.to_string(),
            "spark-a: cannot open the RDMA test: silence"
        );
        assert!(!went_wrong.is_lost());
        let lost = Failed::Rdma(CallError::Session(SessionError::Broken));
        assert!(failed_at("spark-b", None, lost).is_lost());
    }

    #[test]
    fn whoever_knows_first_hand_tells() {
        let late = || failed_at("spark-b", None, Failed::Peer(PeerFailed));
        let why = |near: Told, far: Told| of_both([near, far]).unwrap_err().to_string();
        let own = || failed(|why| RdmaError::Open { why });
        assert_eq!(why(Some(Err(own())), Some(Err(late()))), own().to_string());
        assert_eq!(why(Some(Err(late())), Some(Err(own()))), own().to_string());
        assert_eq!(why(Some(Ok(done())), Some(Err(own()))), own().to_string());
        let gone = MeasureError::Node {
            node: "spark-b".to_owned(),
            source: NodeError::Busy,
        };
        assert!(why(Some(Err(own())), Some(Err(gone))).starts_with("spark-b: "));
        assert!(of_both([Some(Ok(done())), Some(Ok(done()))]).is_ok());
        assert!(of_both([Some(Ok(done())), None]).is_err());
    }
}
