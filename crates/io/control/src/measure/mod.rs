//! Tests between nodes, whatever engine runs them: every end opens, all are told of their peers, all begin together.
//!
//! ```text
//! open ─▶ endpoints of both ends ─▶ join ─▶ all ends of all tests ─▶ go ─▶ close
//! ```

pub(crate) mod defaults;
mod engine;
mod rdma;
mod rendezvous;
mod tcp;

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        mpsc::{self, Sender},
    },
    thread,
    time::Duration,
};

use crosstie_agent::{CallError, TestEngineError, TestOpenReply};
pub use crosstie_agent::{RdmaTestEngine, TcpTestEngine};
use crosstie_figures::TestProgress;
use crosstie_rdma::{HostResourceShare, RdmaOpenRequest};
use crosstie_reach::{CallLimits, NodeStage, Session, SessionError, protocol::CallFailure};

use crate::{Fleet, NodeError, error::session_line};
pub use engine::{PairEngine, PairSide};
use rendezvous::{PeerFailed, TestRendezvous};

/// An emulated node takes seconds to start a program and to make queue pairs.
const OPEN_TIMEOUT: Duration = Duration::from_secs(40);
const JOIN_TIMEOUT: Duration = Duration::from_secs(30);
const CLOSE_TIMEOUT: Duration = Duration::from_secs(15);
/// Beside what the test itself takes.
const RUN_EXTRA_TIMEOUT: Duration = Duration::from_secs(15);
/// For an end to say that it heard nothing either, once its peer has said so. Nodes may be emulated.
const PEER_TIMEOUT: Duration = Duration::from_secs(2);

/// One end of a test.
#[derive(Debug, Clone)]
pub struct TestEnd<R = RdmaOpenRequest> {
    /// Its place in the fleet.
    pub node: usize,
    /// Role and share are set by [`measure`].
    pub request: R,
}

/// `near` sends and measures; with TCP it connects, and either may send.
#[derive(Debug, Clone)]
pub struct PairTest<R = RdmaOpenRequest> {
    pub near: TestEnd<R>,
    pub far: TestEnd<R>,
    /// `far` does so, too.
    pub both_send: bool,
}

/// What a test has shown, of both its ends.
#[derive(Debug)]
pub struct PairTestResult<T: PairEngine = RdmaTestEngine> {
    pub near: TestEndResult<T>,
    pub far: TestEndResult<T>,
}

#[derive(Debug)]
pub struct TestEndResult<T: PairEngine = RdmaTestEngine> {
    /// Of an end that did not send, that it responded.
    pub figures: T::Figures,
    pub conditions: T::Conditions,
}

#[derive(Debug, Clone, thiserror::Error)]
pub enum MeasureError {
    #[error("{node}{}: {source}", with_peer(peer.as_ref()))]
    Engine {
        node: String,
        /// Where it may be the peer's fault.
        peer: Option<String>,
        source: CallError<TestEngineError>,
    },
    #[error("{node}: {source}")]
    Node { node: String, source: NodeError },
    #[error("{node}: its peer was not ready in time")]
    Late { node: String },
    /// Its agent answers, and its engine does not: stopped, frozen, or stuck in a driver.
    #[error("{node}: its end of the test stands still, and was ended")]
    Stalled { node: String },
    /// Either may be what made the other fail.
    #[error("{near}; {far}")]
    BothEnds { near: Box<Self>, far: Box<Self> },
}

fn with_peer(peer: Option<&String>) -> String {
    peer.map_or_else(String::new, |peer| format!(" with {peer}"))
}

impl MeasureError {
    /// `peer` is named where it may be the peer's fault.
    fn engine(node: String, peer: Option<String>, source: CallError<TestEngineError>) -> Self {
        let concerns_peer = matches!(&source, CallError::Call(error) if error.concerns_peer());
        let peer = peer.filter(|_| concerns_peer);
        Self::Engine { node, peer, source }
    }

    /// For a run, which others may read: nodes go by what `host` makes of the names that they were called by, and nothing
    /// tells how they are reached.
    pub(crate) fn public_line(&self, host: &dyn Fn(&str) -> String) -> String {
        match self {
            Self::Engine { node, peer, source } => {
                let peer = peer.as_ref().map(|peer| host(peer));
                let at = format!("{}{}", host(node), with_peer(peer.as_ref()));
                match source {
                    CallError::Session(error) => format!("{at}: {}", session_line(error)),
                    CallError::Call(error) => format!("{at}: {error}"),
                }
            }
            Self::Node { node, source } => format!("{}: {}", host(node), source.public_line()),
            Self::Late { node } => Self::Late { node: host(node) }.to_string(),
            Self::Stalled { node } => Self::Stalled { node: host(node) }.to_string(),
            Self::BothEnds { near, far } => {
                format!("{}; {}", near.public_line(host), far.public_line(host))
            }
        }
    }

    /// Whether a node does not answer any more: nothing can be measured with it.
    pub fn is_lost(&self) -> bool {
        match self {
            Self::Node { .. } => true,
            Self::Engine { source, .. } => matches!(source, CallError::Session(_)),
            Self::Late { .. } | Self::Stalled { .. } => false,
            Self::BothEnds { near, far } => near.is_lost() || far.is_lost(),
        }
    }
}

/// Why one end has no result of its own.
enum Failed {
    Engine(CallError<TestEngineError>),
    /// The other end tells why.
    Peer(PeerFailed),
    /// It did not end though the other had.
    Stalled,
}

impl Failed {
    /// Of a call that was cancelled because the other end had failed: an agent that does not answer that either is lost.
    fn of_call(error: CallError<TestEngineError>) -> Self {
        match error {
            CallError::Session(SessionError::Failed(CallFailure::Cancelled)) => Self::Stalled,
            error => Self::Engine(error),
        }
    }

    /// How long the other end may still take to say how it ended.
    fn grace(&self, silence: Duration) -> Duration {
        match self {
            Self::Engine(CallError::Call(TestEngineError::Silent { .. })) => PEER_TIMEOUT,
            _ => silence + PEER_TIMEOUT,
        }
    }

    /// Whether its agent can still be told to close the test.
    fn is_answered(&self) -> bool {
        !matches!(self, Self::Engine(CallError::Session(_)))
    }
}

/// All tests at once, each with its figures or why it has none. Every wait has a deadline, and a node that fails holds up
/// its own tests only. One that does not answer any more is given up.
pub fn measure<T: PairEngine>(
    fleet: &Fleet,
    tests: &[PairTest<T::Request>],
) -> Vec<Result<PairTestResult<T>, MeasureError>> {
    let shared: Arc<[PairTest<T::Request>]> = tests.to_vec().into();
    let meeting = Arc::new(TestRendezvous::new(tests.len()));
    for (index, test) in tests.iter().enumerate() {
        for (side, end) in [&test.near, &test.far].into_iter().enumerate() {
            if fleet.is_given_up(end.node) {
                // It does not come: nobody is to wait for it.
                drop(meeting.enter(index, side));
            }
        }
    }
    let limit = longest::<T>(tests);
    let (work_tests, work_meeting) = (Arc::clone(&shared), Arc::clone(&meeting));
    let answers = fleet.call_together(limit, move |node, session, progress| {
        Ok(of_node::<T>(
            node,
            session,
            &work_tests,
            &work_meeting,
            progress,
        ))
    });
    let names: Vec<String> = answers.iter().map(|(name, _)| name.clone()).collect();
    let mut results: Vec<[Told<T>; 2]> = tests.iter().map(|_| [None, None]).collect();
    for (node, (name, answer)) in answers.into_iter().enumerate() {
        match answer {
            Ok(ends) => {
                for (test, side, result) in ends {
                    let test_ends = [&shared[test].near, &shared[test].far];
                    let peer = names.get(test_ends[1 - side].node).cloned();
                    let failed = |failed| match failed {
                        Failed::Engine(source) => MeasureError::engine(name.clone(), peer, source),
                        Failed::Peer(PeerFailed) => MeasureError::Late { node: name.clone() },
                        Failed::Stalled => MeasureError::Stalled { node: name.clone() },
                    };
                    let result = result.map_err(failed);
                    if result.as_ref().is_err_and(MeasureError::is_lost) {
                        fleet.give_up(node);
                    }
                    results[test][side] = Some(result);
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
pub fn longest<T: PairEngine>(tests: &[PairTest<T::Request>]) -> Duration {
    let tests = tests.iter().map(|test| duration::<T>(&test.near.request));
    let longest = tests.max();
    OPEN_TIMEOUT + JOIN_TIMEOUT + CLOSE_TIMEOUT + longest.unwrap_or_default()
}

/// What one end says of its test, once it does.
type Told<T> = Option<Result<TestEndResult<T>, MeasureError>>;

/// What both ends have; or why there is nothing, from whichever end knows it first hand.
fn of_both<T: PairEngine>([near, far]: [Told<T>; 2]) -> Result<PairTestResult<T>, MeasureError> {
    let late = || {
        Err(MeasureError::Late {
            node: "a node".to_owned(),
        })
    };
    let near = near.unwrap_or_else(late);
    let far = far.unwrap_or_else(late);
    match (near, far) {
        (Ok(near), Ok(far)) => Ok(PairTestResult { near, far }),
        (
            Err(near @ (MeasureError::Engine { .. } | MeasureError::Stalled { .. })),
            Err(far @ (MeasureError::Engine { .. } | MeasureError::Stalled { .. })),
        ) => {
            let (near, far) = (Box::new(near), Box::new(far));
            Err(MeasureError::BothEnds { near, far })
        }
        // A node that is gone explains why the other hears nothing of it.
        (_, Err(error @ MeasureError::Node { .. }))
        | (Ok(_) | Err(MeasureError::Late { .. }), Err(error))
        | (Err(error), _) => Err(error),
    }
}

/// Tests that the node takes part in, and on which side.
fn ends_of<R>(node: usize, tests: &[PairTest<R>]) -> Vec<(usize, usize)> {
    let each = tests.iter().enumerate();
    each.flat_map(|(index, test)| {
        let sides = [&test.near, &test.far].into_iter().enumerate();
        sides
            .filter(move |(_, end)| end.node == node)
            .map(move |(side, _)| (index, side))
    })
    .collect()
}

type OfNode<T> = (usize, usize, Result<TestEndResult<T>, Failed>);

/// All ends of one node, beside each other.
fn of_node<T: PairEngine>(
    node: usize,
    session: &dyn Session,
    tests: &[PairTest<T::Request>],
    meeting: &TestRendezvous<T::Endpoint>,
    progress: &dyn Fn(NodeStage),
) -> Vec<OfNode<T>> {
    progress(NodeStage::Measuring { megabits: 0 });
    thread::scope(|scope| {
        let (sender, rates) = mpsc::channel();
        let own = ends_of(node, tests);
        let count = u16::try_from(own.len()).unwrap_or(u16::MAX);
        let ends: Vec<_> = (0..)
            .zip(own)
            .map(|(place, (index, side))| {
                let sender = sender.clone();
                let share = HostResourceShare {
                    index: place,
                    count,
                };
                let test_side = if side == 0 {
                    PairSide::Near
                } else {
                    PairSide::Far
                };
                let request = T::of_side(&tests[index], test_side, share);
                let work = move || run_end::<T>(session, &request, index, side, meeting, &sender);
                (index, side, scope.spawn(work))
            })
            .collect();
        drop(sender);
        // Until the last end has ended.
        let mut latest = BTreeMap::new();
        for (index, megabits) in rates {
            latest.insert(index, megabits);
            let megabits = latest.values().sum();
            progress(NodeStage::Measuring { megabits });
        }
        let results = ends.into_iter().map(|(index, side, thread)| {
            let result = thread.join().unwrap_or(Err(Failed::Peer(PeerFailed)));
            (index, side, result)
        });
        results.collect()
    })
}

fn run_end<T: PairEngine>(
    session: &dyn Session,
    request: &T::Request,
    index: usize,
    side: usize,
    meeting: &TestRendezvous<T::Endpoint>,
    rates: &Sender<(usize, u64)>,
) -> Result<TestEndResult<T>, Failed> {
    // However it ends, nobody waits for this end any longer.
    let place = meeting.enter(index, side);
    let opened = engine::open::<T>(session, request, OPEN_TIMEOUT).map_err(Failed::Engine)?;
    let TestOpenReply {
        test,
        endpoint,
        conditions,
    } = opened;
    let run = || -> Result<T::Figures, Failed> {
        place.tell(endpoint);
        let peer = place.peer(OPEN_TIMEOUT).map_err(Failed::Peer)?;
        engine::join::<T>(session, test, peer, JOIN_TIMEOUT).map_err(Failed::Engine)?;
        place
            .joined(OPEN_TIMEOUT + JOIN_TIMEOUT)
            .map_err(Failed::Peer)?;
        let time = duration::<T>(request);
        if let Some(responded) = T::without_work(request) {
            place.wait_for_peer(time);
            return Ok(responded);
        }
        let told = &mut |progress: TestProgress| {
            let megabits = progress.bytes * 8000 / progress.elapsed_nanoseconds.max(1);
            // Nobody is left to draw it, at worst.
            let _ = rates.send((index, megabits));
        };
        let limits = CallLimits {
            deadline: time,
            is_unwanted: Some(&|| place.is_overdue()),
        };
        let figures = engine::run::<T>(session, test, limits, told).map_err(Failed::of_call)?;
        place.done();
        if T::stays_for_peer(request) {
            place.wait_for_peer(time);
        }
        Ok(figures)
    };
    let result = run();
    if let Err(failed) = &result {
        place.fail(failed.grace(T::silence(request)));
    }
    // Where it cannot be said any more, the worker ends with the session.
    if result.as_ref().err().is_none_or(Failed::is_answered) {
        engine::close::<T>(session, test, CLOSE_TIMEOUT);
    }
    Ok(TestEndResult {
        figures: result?,
        conditions,
    })
}

/// Until its figures must be there.
fn duration<T: PairEngine>(request: &T::Request) -> Duration {
    T::longest(request) + RUN_EXTRA_TIMEOUT
}

#[cfg(test)]
mod tests {
    use crosstie_agent::TestEngineName;
    use crosstie_fabric::placement::ThreadPlacement;
    use crosstie_reach::SessionError;

    use super::*;

    fn failed(why: fn(TestEngineName, String) -> TestEngineError) -> MeasureError {
        let source = CallError::Call(why(TestEngineName::Rdma, "silence".to_owned()));
        MeasureError::engine("spark-a".to_owned(), Some("spark-b".to_owned()), source)
    }

    fn done() -> TestEndResult {
        let placement = ThreadPlacement {
            processor: None,
            near_card: true,
            is_short: false,
        };
        TestEndResult {
            figures: crosstie_rdma::RdmaFigures::Responded,
            conditions: crosstie_agent::RdmaEndPlacement {
                placement,
                is_pinned: true,
                memory_cap: None,
            },
        }
    }

    #[test]
    fn an_error_names_the_peer_where_it_may_be_the_peers_fault() {
        let went_wrong = failed(|engine, why| TestEngineError::Go { engine, why });
        assert_eq!(
            went_wrong.to_string(),
            "spark-a with spark-b: the RDMA test failed: silence"
        );
        let own = failed(|engine, why| TestEngineError::Open { engine, why });
        assert_eq!(
            own.to_string(),
            "spark-a: cannot open the RDMA test: silence"
        );
        assert!(!went_wrong.is_lost());
        let lost = CallError::Session(SessionError::Broken);
        assert!(MeasureError::engine("spark-b".to_owned(), None, lost).is_lost());
    }

    #[test]
    fn whoever_knows_first_hand_tells() {
        let late = || MeasureError::Late {
            node: "spark-b".to_owned(),
        };
        let why = |near: Told<RdmaTestEngine>, far: Told<RdmaTestEngine>| {
            let error = of_both([near, far]).unwrap_err();
            error.to_string()
        };
        let own = || failed(|engine, why| TestEngineError::Open { engine, why });
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

#[cfg(test)]
mod public_lines {
    use std::sync::Arc;

    use crosstie_reach::{ConnectError, SessionError};

    use super::*;

    /// A user, a domain, an alias, an address: in the names that nodes were called by, and in what ssh said.
    #[test]
    fn nothing_tells_how_a_node_is_reached() {
        const CALLED: [&str; 2] = ["alice@spark-a.corp.example", "jump-b"];
        let host = |node: &str| {
            if node == CALLED[0] {
                "spark-a"
            } else {
                "spark-b"
            }
            .to_owned()
        };
        let said = " (Connection to spark-a.corp.example closed by 192.0.2.7)";
        let ended = || SessionError::Ended {
            said: said.to_owned(),
        };
        let [node, peer] = CALLED.map(str::to_owned);
        let spawn = ConnectError::Spawn {
            program: "ssh alice@spark-a.corp.example".to_owned(),
            source: std::io::Error::other("x"),
        };
        let errors = [
            MeasureError::Engine {
                node: node.clone(),
                peer: Some(peer.clone()),
                source: CallError::Session(ended()),
            },
            MeasureError::Engine {
                node: peer,
                peer: None,
                source: CallError::Session(ended()),
            },
            MeasureError::Node {
                node: node.clone(),
                source: NodeError::Connect(Arc::new(spawn)),
            },
            MeasureError::Node {
                node: node.clone(),
                source: ended().into(),
            },
            MeasureError::Late { node: node.clone() },
            MeasureError::Stalled { node },
        ];
        let both = MeasureError::BothEnds {
            near: Box::new(errors[0].clone()),
            far: Box::new(errors[1].clone()),
        };
        for error in errors.into_iter().chain([both]) {
            let line = error.public_line(&host);
            for secret in ["alice", "corp", "jump", "192.0.2.7"] {
                assert!(!line.contains(secret), "{line}");
            }
            assert!(
                line.contains("spark-a") || line.contains("spark-b"),
                "{line}"
            );
        }
    }
}
