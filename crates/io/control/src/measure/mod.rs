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
    CallError, JoinRequest, RdmaClose, RdmaError, RdmaGo, RdmaJoin, RdmaOpen, call,
};
use crosstie_rdma::{Figures, OpenRequest, Progress, Role, Test};
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
    /// The roles are set by the test.
    pub request: OpenRequest,
}

/// `near` sends and measures.
#[derive(Debug, Clone)]
pub struct PairTest {
    pub near: End,
    pub far: End,
}

#[derive(Debug, Clone, thiserror::Error)]
pub enum MeasureError {
    #[error("{node}: {source}")]
    Rdma {
        node: String,
        source: CallError<RdmaError>,
    },
    #[error("{node}: {source}")]
    Node { node: String, source: NodeError },
    #[error("{node}: its peer was not ready in time")]
    Late { node: String },
}

/// Why one end has no result of its own.
enum Failed {
    Rdma(CallError<RdmaError>),
    /// The other end tells why.
    Peer(PeerFailed),
}

/// All tests at once, each with its figures or why it has none. Every wait has a deadline, and a node that fails holds up
/// its own tests only.
pub fn measure(fleet: &Fleet, tests: &[PairTest]) -> Vec<Result<Figures, MeasureError>> {
    let shared: Arc<[PairTest]> = tests.to_vec().into();
    let meeting = Arc::new(Meeting::new(tests.len()));
    let longest = tests.iter().map(|test| duration(&test.near.request)).max();
    let limit = OPEN_TIMEOUT + JOIN_TIMEOUT + CLOSE_TIMEOUT + longest.unwrap_or_default();
    let (work_tests, work_meeting) = (Arc::clone(&shared), Arc::clone(&meeting));
    let answers = fleet.call_together(limit, move |node, session, progress| {
        Ok(of_node(node, session, &work_tests, &work_meeting, progress))
    });
    let mut results: Vec<[Told; 2]> = tests.iter().map(|_| [None, None]).collect();
    for (node, (name, answer)) in answers.into_iter().enumerate() {
        match answer {
            Ok(ends) => {
                for (test, side, result) in ends {
                    let failed = |failed| failed_at(&name, failed);
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

/// What one end says of its test, once it does.
type Told = Option<Result<Option<Figures>, MeasureError>>;

/// The near end's figures; or why there are none, from whichever end knows it first hand.
fn of_both([near, far]: [Told; 2]) -> Result<Figures, MeasureError> {
    let late = || MeasureError::Late {
        node: "a node".to_owned(),
    };
    let near = near.unwrap_or_else(|| Err(late()));
    let is_second_hand = matches!(near, Ok(_) | Err(MeasureError::Late { .. }));
    if let Some(Err(error)) = far
        && is_second_hand
    {
        return Err(error);
    }
    near?.ok_or_else(late)
}

fn failed_at(node: &str, failed: Failed) -> MeasureError {
    let node = node.to_owned();
    match failed {
        Failed::Rdma(source) => MeasureError::Rdma { node, source },
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

type EndResult = (usize, usize, Result<Option<Figures>, Failed>);

/// All ends of one node, beside each other.
fn of_node(
    node: usize,
    session: &dyn Session,
    tests: &[PairTest],
    meeting: &Meeting,
    progress: &dyn Fn(Stage),
) -> Vec<EndResult> {
    progress(Stage::Measuring { megabits: 0 });
    thread::scope(|scope| {
        let (sender, rates) = mpsc::channel();
        let ends: Vec<_> = ends_of(node, tests)
            .into_iter()
            .map(|(index, side)| {
                let sender = sender.clone();
                let work = move || one_end(session, &tests[index], index, side, meeting, &sender);
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

fn one_end(
    session: &dyn Session,
    test: &PairTest,
    index: usize,
    side: usize,
    meeting: &Meeting,
    rates: &Sender<(usize, u64)>,
) -> Result<Option<Figures>, Failed> {
    // However it ends, nobody waits for this end any longer.
    let place = meeting.enter(index, side);
    let (end, role) = if side == 0 {
        (&test.near, Role::Initiator)
    } else {
        (&test.far, Role::Responder)
    };
    let request = OpenRequest {
        role,
        ..end.request.clone()
    };
    let opened = call::<RdmaOpen>(session, &request, OPEN_TIMEOUT, &mut |()| ());
    let opened = opened.map_err(Failed::Rdma)?;
    let run = || {
        place.tell(opened.endpoints);
        let peers = place.peer(OPEN_TIMEOUT).map_err(Failed::Peer)?;
        let join = JoinRequest {
            test: opened.test,
            peers,
        };
        call::<RdmaJoin>(session, &join, JOIN_TIMEOUT, &mut |()| ()).map_err(Failed::Rdma)?;
        place
            .joined(OPEN_TIMEOUT + JOIN_TIMEOUT)
            .map_err(Failed::Peer)?;
        let time = duration(&request);
        // What is written to or read from needs no program.
        if role == Role::Responder && request.test != Test::Latency {
            place.wait_for_peer(time);
            return Ok(None);
        }
        let told = &mut |progress: Progress| {
            let megabits = progress.bytes * 8000 / progress.elapsed_nanoseconds.max(1);
            // Nobody is left to draw it, at worst.
            let _ = rates.send((index, megabits));
        };
        let figures = call::<RdmaGo>(session, &opened.test, time, told).map_err(Failed::Rdma)?;
        place.done();
        Ok(Some(figures))
    };
    let result = run();
    // Where it cannot be said any more, the worker ends with the session.
    let _ = call::<RdmaClose>(session, &opened.test, CLOSE_TIMEOUT, &mut |()| ());
    result
}

/// Until its figures must be there.
fn duration(request: &OpenRequest) -> Duration {
    let times = request.times;
    let sum = [
        times.warm_up,
        times.measure,
        times.cool_down,
        times.silence,
        times.silence,
    ];
    let sum: u64 = sum.into_iter().map(u64::from).sum();
    Duration::from_millis(sum) + GO_MARGIN
}
