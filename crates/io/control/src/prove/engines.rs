//! The tests of a step, by the engine of its kind.

use std::collections::BTreeMap;

use crosstie_agent::{CallError, TestEngine, TestEngineError};
use crosstie_grade::proof::TestBatch;
use crosstie_model::{
    Facts,
    run::{
        BandwidthFigures, LatencyFigures, MeasuredEnd, MeasurementFigures, MeasurementOutcome,
        TestKind,
    },
};
use crosstie_rdma::RdmaFigures;
use crosstie_tcp::TcpFigures;

use super::{
    Tested,
    requests::{self, TCP_STREAMS},
};
use crate::{
    Fleet,
    bench::of_conditions,
    measure::{
        MeasureError, PairEngine, PairTest, PairTestResult, RdmaTestEngine, TcpTestEngine, measure,
    },
};

type Tests<T> = [Option<PairTest<<T as TestEngine>::Request>>];

pub(super) fn test(
    fleet: &Fleet,
    facts: &[Facts],
    step: &TestBatch,
    pairs: &[[&MeasuredEnd; 2]],
) -> Tested {
    if matches!(step.kind, TestKind::TcpBandwidth | TestKind::TcpLatency) {
        let tests = pairs.iter().map(|pair| requests::tcp(facts, step, *pair));
        let no_test = "the port has no IP address";
        return of_engine::<TcpTestEngine>(
            fleet,
            facts,
            pairs,
            &tests.collect::<Vec<_>>(),
            no_test,
            &of_tcp,
        );
    }
    let tests = step.tests.iter().zip(pairs);
    let tests = tests.map(|(test, pair)| requests::rdma(facts, step, *test, *pair));
    let no_test = "the port is not active any more";
    of_engine::<RdmaTestEngine>(
        fleet,
        facts,
        pairs,
        &tests.collect::<Vec<_>>(),
        no_test,
        &of_rdma,
    )
}

/// Figures and doubts of a test, whose ends are on these hosts.
type Reading<T> =
    dyn Fn(PairTestResult<T>, [&str; 2]) -> Result<(MeasurementFigures, Vec<String>), String>;

fn of_engine<T: PairEngine>(
    fleet: &Fleet,
    facts: &[Facts],
    pairs: &[[&MeasuredEnd; 2]],
    tests: &Tests<T>,
    no_test: &str,
    read: &Reading<T>,
) -> Tested {
    let asked: Vec<PairTest<T::Request>> = tests.iter().flatten().cloned().collect();
    let mut measured = measure::<T>(fleet, &asked).into_iter();
    let names: Vec<String> = fleet.names().into_iter().map(str::to_owned).collect();
    let host = |node: &str| {
        let place = names.iter().position(|name| name == node);
        let facts = place.and_then(|place| facts.get(place));
        facts.map_or_else(|| "a node".to_owned(), |facts| facts.host.name.clone())
    };
    let mut tested = Tested::default();
    let mut lost: BTreeMap<String, String> = BTreeMap::new();
    for (test, pair) in tests.iter().zip(pairs) {
        let failed = |error: String| (MeasurementOutcome::Failed { error }, Vec::new());
        let outcome = match test.as_ref().map(|_| measured.next()) {
            None => {
                let reason = no_test.to_owned();
                (MeasurementOutcome::NotApplicable { reason }, Vec::new())
            }
            Some(Some(Ok(measured))) => match read(measured, pair.map(|end| end.host.as_str())) {
                Ok((figures, doubts)) => (MeasurementOutcome::Measured(figures), doubts),
                Err(error) => failed(error),
            },
            Some(Some(Err(error))) if is_of_programs(&error) => {
                let reason = error.public_line(&host);
                (MeasurementOutcome::NotApplicable { reason }, Vec::new())
            }
            Some(Some(Err(error))) => {
                let why = error.public_line(&host);
                if let Some(host) = lost_host(&error, &names, facts) {
                    lost.insert(host, why.clone());
                }
                failed(why)
            }
            Some(None) => failed("it was not begun".to_owned()),
        };
        tested.outcomes.push(outcome);
    }
    tested.lost = lost.into_iter().collect();
    tested
}

/// A node whose programs cannot use RDMA says nothing of cards and cables; `rdma-userspace-missing` tells what it lacks.
fn is_of_programs(error: &MeasureError) -> bool {
    match error {
        MeasureError::Engine {
            source:
                CallError::Call(
                    TestEngineError::UserspaceMissing { .. } | TestEngineError::NoProvider { .. },
                ),
            ..
        } => true,
        MeasureError::BothEnds { near, far } => is_of_programs(near) || is_of_programs(far),
        _ => false,
    }
}

/// The name of the node that is gone, by how it was called.
fn lost_host(error: &MeasureError, names: &[String], facts: &[Facts]) -> Option<String> {
    let node = match error {
        MeasureError::BothEnds { near, far } => {
            let near = lost_host(near, names, facts);
            return near.or_else(|| lost_host(far, names, facts));
        }
        MeasureError::Engine { node, .. }
        | MeasureError::Node { node, .. }
        | MeasureError::Late { node }
        | MeasureError::Stalled { node } => node,
    };
    let place = names.iter().position(|name| name == node)?;
    let host = facts.get(place)?.host.name.clone();
    error.is_lost().then_some(host)
}

fn of_rdma(
    measured: PairTestResult<RdmaTestEngine>,
    [from, to]: [&str; 2],
) -> Result<(MeasurementFigures, Vec<String>), String> {
    let mut doubts = of_conditions(from, &measured.near.conditions);
    doubts.extend(of_conditions(to, &measured.far.conditions));
    let figures = match measured.near.figures {
        RdmaFigures::Bandwidth(sizes) => {
            let one = sizes.into_iter().next();
            let one = one.ok_or_else(|| "the engine measured nothing".to_owned())?;
            MeasurementFigures::Bandwidth(BandwidthFigures {
                bytes: one.bytes,
                messages: one.messages,
                nanoseconds: one.nanoseconds,
                windows: one.windows,
                window_nanoseconds: one.window_nanoseconds,
                processor_nanoseconds: one.processor_nanoseconds,
                receiver_processor_nanoseconds: None,
                threads: 1,
                queue_not_full_nanoseconds: None,
                complete: one.complete,
            })
        }
        RdmaFigures::Latency(latency) => of_latency(&latency)?,
        RdmaFigures::Verified(_) | RdmaFigures::Responded => {
            return Err("the engine measured something else".to_owned());
        }
    };
    Ok((figures, doubts))
}

fn of_tcp(
    measured: PairTestResult<TcpTestEngine>,
    _: [&str; 2],
) -> Result<(MeasurementFigures, Vec<String>), String> {
    let conditions = [measured.near.conditions, measured.far.conditions];
    let doubts = conditions.into_iter().flatten().collect();
    let figures = match (measured.near.figures, measured.far.figures) {
        (
            TcpFigures::Bandwidth { sent, .. },
            TcpFigures::Bandwidth {
                received: Some(received),
                ..
            },
        ) => MeasurementFigures::Bandwidth(BandwidthFigures {
            bytes: received.bytes,
            messages: received.messages,
            nanoseconds: received.nanoseconds,
            windows: received.windows,
            window_nanoseconds: received.window_nanoseconds,
            processor_nanoseconds: sent.map_or(0, |sent| sent.processor_nanoseconds),
            receiver_processor_nanoseconds: Some(received.processor_nanoseconds),
            threads: TCP_STREAMS.into(),
            queue_not_full_nanoseconds: None,
            complete: received.complete,
        }),
        (TcpFigures::Latency(latency), _) => of_latency(&latency)?,
        _ => return Err("the engine measured something else".to_owned()),
    };
    Ok((figures, doubts))
}

fn of_latency(latency: &crosstie_figures::MeasuredLatency) -> Result<MeasurementFigures, String> {
    let times = &latency.half_round_trips;
    let found = (|| {
        Some(LatencyFigures {
            count: times.count(),
            least: times.least()?,
            p50: times.percentile(50_000)?,
            p99: times.percentile(99_000)?,
            p999: times.percentile(99_900)?,
            most: times.most()?,
            histogram: times.buckets().collect(),
            complete: latency.complete,
        })
    })();
    let figures = found.ok_or_else(|| "no message came back in time".to_owned())?;
    Ok(MeasurementFigures::Latency(figures))
}
