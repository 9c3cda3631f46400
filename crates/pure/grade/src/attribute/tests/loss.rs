//! Loss, by the counters of both ends.

use super::*;

/// Loss from `a` to `b`: seen as data in one test, as acknowledgements in the other.
fn lossy() -> StoredRun {
    let mut run = at(CONNECTX_5, 60.0);
    run.measurements[0].counters = CounterGrowth {
        from: grown([
            ("sent_pkts", 100_000),
            ("rcvd_pkts", 20_000),
            ("rcvd_seq_err", 300),
        ]),
        to: grown([
            ("rcvd_pkts", 99_500),
            ("sent_pkts", 20_000),
            ("out_of_seq_request", 300),
        ]),
        ..CounterGrowth::default()
    };
    run.measurements[1].counters = CounterGrowth {
        from: grown([
            ("sent_pkts", 100_000),
            ("rcvd_pkts", 19_900),
            ("completer_retry_err", 40),
        ]),
        to: grown([("rcvd_pkts", 100_000), ("sent_pkts", 20_000)]),
        ..CounterGrowth::default()
    };
    run
}

#[test]
fn loss_is_found_in_its_direction_and_explains_the_rest() {
    let run = lossy();
    let graded = GradedRun::new(&run);
    let found = faults(&graded);
    assert_eq!(
        roots(&run),
        [(FaultKind::PathLosesPackets, Severity::Fault)]
    );
    let loss = &found[0];
    assert_eq!(loss.subject, "a → b");
    let seen: Vec<&str> = loss
        .evidence
        .iter()
        .map(|seen| seen.value.as_str())
        .collect();
    assert_eq!(seen[0], "600 of 120000");
    // Bandwidth in both directions follows from it.
    let slow = found
        .iter()
        .find(|fault| fault.kind == FaultKind::BandwidthBelowCeiling)
        .unwrap();
    assert_eq!(slow.because_of, Some(0));
}

/// A path that loses so much that its test does not end in time.
#[test]
fn loss_is_found_by_the_counters_of_a_test_without_a_figure() {
    let mut run = lossy();
    let failed = MeasurementOutcome::Failed {
        error: "the worker gave no answer".to_owned(),
    };
    run.measurements[0].outcome = failed;
    // 500 of 100,000 could be a moment between two readings.
    let kinds = |run: &StoredRun| {
        let graded = GradedRun::new(run);
        let losses = faults(&graded).into_iter();
        let losses = losses.filter(|fault| fault.kind == FaultKind::PathLosesPackets);
        losses.map(|fault| fault.subject).collect::<Vec<String>>()
    };
    run.measurements.truncate(1);
    assert_eq!(kinds(&run), [""; 0]);
    run.measurements[0]
        .counters
        .to
        .insert("rcvd_pkts".to_owned(), 95_000);
    assert_eq!(kinds(&run), ["a → b"]);
    // Nor of a node that went away meanwhile.
    run.lost.push(LostNode {
        host: "b".to_owned(),
        offset_milliseconds: 0,
        why: "it was killed".to_owned(),
    });
    assert_eq!(kinds(&run), [""; 0]);
}

#[test]
fn counters_that_merely_differ_are_no_loss() {
    let mut run = at(CONNECTX_5, 97.0);
    run.measurements[0].counters = CounterGrowth {
        from: grown([("sent_pkts", 100_000)]),
        to: grown([("rcvd_pkts", 99_000)]),
        ..CounterGrowth::default()
    };
    assert_eq!(roots(&run), []);
}
