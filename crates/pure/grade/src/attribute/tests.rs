mod loss;

use crosstie_model::{
    Gbps,
    run::{
        CounterGrowth, LatencyFigures, LostNode, Measurement, MeasurementFigures,
        MeasurementOutcome, ReachabilityFigure, StoredRun, TestConcurrency, TestKind,
    },
};

use proptest::prelude::*;

use super::*;
use crate::{
    FigureVerdict, LikelyLimit,
    ceiling::CeilingCause,
    graded::GradedPath,
    ledger::LossCause,
    sample_runs::{SPARK, SampleCard, back, both_ways, grown, pair, write},
    verdict::NotGraded,
};

const CONNECTX_5: SampleCard = SampleCard {
    rate: 100.0,
    mtu: 9000,
    pcie: Some((8.0, 16)),
    twins: 1,
};

fn first<'g, 'a>(graded: &'g GradedRun<'a>) -> &'g GradedPath<'a> {
    &graded.cells[0]
}

fn roots(run: &StoredRun) -> Vec<(FaultKind, Severity)> {
    let graded = GradedRun::new(run);
    let all = faults(&graded)
        .into_iter()
        .filter(|fault| fault.because_of.is_none());
    all.map(|fault| (fault.kind, fault.severity)).collect()
}

fn at(card: SampleCard, gbps: f64) -> StoredRun {
    let mut run = pair(card);
    both_ways(&mut run, gbps, 0);
    run
}

#[test]
fn a_hot_plugged_connectx_7_has_its_signature() {
    let mut run = at(SPARK, 12.9);
    let graded = GradedRun::new(&run);
    assert_eq!(first(&graded).verdict, FigureVerdict::Fault);
    assert_eq!(first(&graded).limits, [LikelyLimit::HotPlug]);
    let found = &faults(&graded)[0];
    assert_eq!(
        (found.kind, found.severity),
        (FaultKind::BandwidthBelowCeiling, Severity::Fault)
    );
    assert!(
        found.cause.as_ref().unwrap().contains("hot-plug"),
        "{found:?}"
    );
    assert!(found.suspects.len() > 1, "either end: {found:?}");
    // The kernel's log tells which.
    run.header.nodes[1].hot_plugged = true;
    let found = &faults(&GradedRun::new(&run))[0];
    assert_eq!(
        found.suspects,
        ["node b, whose card was started by hot-plug"]
    );
}

#[test]
fn one_twin_of_two() {
    let graded = |gbps| at(SPARK, gbps);
    let run = graded(92.0);
    let low = GradedRun::new(&run);
    assert_eq!(
        (first(&low).verdict, first(&low).percent),
        (FigureVerdict::Warning, Some(82))
    );
    let ceiling = first(&low).ceiling.as_ref().unwrap();
    assert!((ceiling.gbps - 112.8).abs() < 0.1 && ceiling.binding == CeilingCause::Pcie);
    assert_eq!(
        roots(&run),
        [(FaultKind::BandwidthBelowCeiling, Severity::Warning)]
    );
    for gbps in [107.0, 109.5, 112.0] {
        let run = graded(gbps);
        assert_eq!(
            first(&GradedRun::new(&run)).verdict,
            FigureVerdict::Healthy,
            "{gbps}"
        );
        assert_eq!(roots(&run), []);
    }
}

/// Both twins at once, each with its part of the sum.
fn twins(first: f64, second: f64) -> StoredRun {
    let mut run = pair(SPARK);
    for rail in [0, 1] {
        both_ways(&mut run, 110.0, rail);
    }
    let rails = [(first, 0), (second, 1)].map(|(gbps, rail)| Measurement {
        phase: TestConcurrency::AllRails,
        round: 9,
        ..write(gbps, rail)
    });
    run.measurements.extend(rails);
    run
}

#[test]
fn both_twins_together() {
    for sum in [190.0, 193.0, 196.0] {
        let run = twins(sum / 2.0, sum / 2.0);
        let graded = GradedRun::new(&run);
        let rails = &graded.rail_sums[0];
        let ceiling = rails.ceiling.as_ref().unwrap();
        assert!((ceiling.gbps - 196.1).abs() < 0.1, "{}", ceiling.gbps);
        assert_eq!(rails.verdict, FigureVerdict::Healthy, "{sum}");
        assert_eq!(roots(&run), [], "{sum}");
    }
}

#[test]
fn half_of_both_twins_is_a_rail_idle_or_one_twin() {
    let run = twins(49.0, 49.0);
    let graded = GradedRun::new(&run);
    let rails = &graded.rail_sums[0];
    assert_eq!(rails.verdict, FigureVerdict::Fault);
    assert!(
        rails.limits.contains(&LikelyLimit::OneTwin)
            && rails.limits.contains(&LikelyLimit::RailIdle),
        "{:?}",
        rails.limits
    );
    let found = faults(&graded);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].suspects, ["one twin of two", "one rail idle"]);
    // Where bytes were counted on each, it is known.
    assert_eq!(
        roots(&twins(98.0, 0.0)),
        [(FaultKind::RailIdle, Severity::Fault)]
    );
}

#[test]
fn a_small_mtu_costs_its_headers() {
    let run = at(
        SampleCard {
            mtu: 1500,
            ..CONNECTX_5
        },
        91.5,
    );
    let graded = GradedRun::new(&run);
    let cell = first(&graded);
    assert_eq!(
        (cell.verdict, cell.percent),
        (FigureVerdict::Warning, Some(93))
    );
    assert_eq!(cell.limits.first(), Some(&LikelyLimit::PathMtu(1024)));
    let ledger = cell.ledger.as_ref().unwrap();
    assert_eq!(ledger.shares[0].causes, [LossCause::SmallPathMtu(1024)]);
    assert!((ledger.shares[0].gbps - 5.4).abs() < 0.1, "{ledger:?}");
    assert!(ledger.unexplained < 1.2);
    assert_eq!(
        roots(&run),
        [(FaultKind::BandwidthBelowCeiling, Severity::Warning)]
    );
}

#[test]
fn connectx_5_pairs() {
    let run = at(CONNECTX_5, 93.0);
    let graded = GradedRun::new(&run);
    assert_eq!(
        (first(&graded).verdict, first(&graded).percent),
        (FigureVerdict::Healthy, Some(95))
    );
    let run = at(
        SampleCard {
            pcie: Some((8.0, 8)),
            ..CONNECTX_5
        },
        55.0,
    );
    let graded = GradedRun::new(&run);
    let cell = first(&graded);
    assert_eq!(cell.verdict, FigureVerdict::Healthy);
    assert!(
        matches!(cell.limits.as_slice(), [LikelyLimit::Pcie(_)]),
        "{:?}",
        cell.limits
    );
    assert_eq!(cell.limits[0].to_string(), "PCIe: Gen3 x8 at a");
    assert_eq!(roots(&run), []);
}

#[test]
fn one_queue_pair_of_a_connectx_8_is_not_graded_alone() {
    let card = SampleCard {
        rate: 400.0,
        mtu: 9000,
        pcie: Some((32.0, 16)),
        twins: 1,
    };
    let mut run = pair(card);
    let one = Measurement {
        queue_pairs: Some(1),
        ..write(225.0, 0)
    };
    run.measurements.push(one);
    let graded = GradedRun::new(&run);
    assert_eq!(
        first(&graded).verdict,
        FigureVerdict::NotGraded(NotGraded::OneQueuePair)
    );
    assert_eq!(roots(&run), []);
    run.measurements.push(write(388.0, 0));
    let graded = GradedRun::new(&run);
    assert_eq!(graded.cells.len(), 1);
    assert_eq!(
        (first(&graded).verdict, first(&graded).percent),
        (FigureVerdict::Healthy, Some(99))
    );
}

#[test]
fn the_practice_guides_370_is_a_warning_with_the_ledger() {
    let card = SampleCard {
        rate: 400.0,
        mtu: 9000,
        pcie: Some((32.0, 16)),
        twins: 1,
    };
    let run = at(card, 370.0);
    let graded = GradedRun::new(&run);
    let cell = first(&graded);
    assert_eq!(
        (cell.verdict, cell.percent),
        (FigureVerdict::Warning, Some(94))
    );
    let ledger = cell.ledger.as_ref().unwrap();
    assert!((ledger.port_rate - 400.0).abs() < 0.01);
    assert!((ledger.deductions[0].gbps - 7.8).abs() < 0.1);
    assert!((ledger.unexplained - 22.2).abs() < 0.1);
}

#[test]
fn duplex_sums_are_shown_and_not_graded() {
    let mut run = pair(CONNECTX_5);
    let duplex = Measurement {
        phase: TestConcurrency::Bidirectional,
        ..write(60.0, 0)
    };
    run.measurements.extend([duplex.clone(), back(duplex)]);
    let graded = GradedRun::new(&run);
    assert_eq!(
        first(&graded).verdict,
        FigureVerdict::NotGraded(NotGraded::Duplex)
    );
    assert_eq!(roots(&run), []);
}

#[test]
fn software_devices_are_held_to_the_declared_rate_or_to_each_other() {
    let mut run = at(SPARK, 0.45);
    for port in run.header.nodes.iter_mut().flat_map(|node| &mut node.ports) {
        port.software = true;
    }
    let graded = GradedRun::new(&run);
    assert_eq!(
        first(&graded).verdict,
        FigureVerdict::NotGraded(NotGraded::NoCeiling)
    );
    run.header.options.rate_gbps = Some(Gbps(0.5));
    let graded = GradedRun::new(&run);
    assert_eq!(
        (first(&graded).verdict, first(&graded).percent),
        (FigureVerdict::Warning, Some(92))
    );
    run.header.options.rate_gbps = None;
    run.measurements
        .extend([write(0.44, 1), back(write(0.1, 1))]);
    let graded = GradedRun::new(&run);
    let verdicts: Vec<FigureVerdict> = graded.cells.iter().map(|cell| cell.verdict).collect();
    assert_eq!(
        verdicts,
        [
            FigureVerdict::Healthy,
            FigureVerdict::Healthy,
            FigureVerdict::Healthy,
            FigureVerdict::Fault
        ]
    );
}

#[test]
fn a_dip_is_named_with_its_time() {
    let mut run = at(CONNECTX_5, 97.0);
    run.measurements[0].offset_milliseconds = 60_000;
    run.measurements[0].phase = TestConcurrency::Soak;
    if let MeasurementOutcome::Measured(MeasurementFigures::Bandwidth(figures)) =
        &mut run.measurements[0].outcome
    {
        figures.windows = vec![1_000; 40];
        figures.windows[20..30].fill(3);
    }
    let graded = GradedRun::new(&run);
    let found = faults(&graded);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].kind, FaultKind::BandwidthUnsteady);
    let values: Vec<&str> = found[0]
        .evidence
        .iter()
        .map(|seen| seen.value.as_str())
        .collect();
    assert!(
        values.contains(&"62.0 s after the run began") && values.contains(&"1.0 s"),
        "{values:?}"
    );
}

/// The best of all tries is what a soak is graded by; a try without a figure must not vanish behind it.
#[test]
fn a_soak_that_breaks_off_is_named_with_its_time() {
    let mut run = at(CONNECTX_5, 97.0);
    run.measurements[0].phase = TestConcurrency::Soak;
    let good = run.measurements[0].clone();
    for (offset, is_bad) in [(60_000, true), (93_500, false)] {
        let mut one = good.clone();
        one.offset_milliseconds = offset;
        if is_bad {
            one.outcome = MeasurementOutcome::Failed {
                error: "the port went down".to_owned(),
            };
        }
        run.measurements.push(one);
    }
    let graded = GradedRun::new(&run);
    let found = faults(&graded);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].kind, FaultKind::BandwidthUnsteady);
    let seen = format!("{:?}", found[0].evidence);
    assert!(
        seen.contains("between 60.0 s and 93.5 s") && seen.contains("the port went down"),
        "{seen}"
    );
}

#[test]
fn latency_has_limits_of_its_own_on_hardware() {
    for (p50, expected) in [
        (1_600, None),
        (2_500, Some(Severity::Warning)),
        (5_500, Some(Severity::Fault)),
    ] {
        let mut run = pair(CONNECTX_5);
        run.measurements.push(Measurement {
            kind: TestKind::RdmaLatency,
            outcome: MeasurementOutcome::Measured(MeasurementFigures::Latency(LatencyFigures {
                p50,
                count: 100,
                complete: true,
                ..LatencyFigures::default()
            })),
            ..write(1.0, 0)
        });
        let expected: Vec<_> = expected
            .into_iter()
            .map(|severity| (FaultKind::LatencyHigh, severity))
            .collect();
        assert_eq!(roots(&run), expected, "{p50}");
        for port in run.header.nodes.iter_mut().flat_map(|node| &mut node.ports) {
            port.software = true;
        }
        assert_eq!(roots(&run), [], "{p50}, software");
    }
}

#[test]
fn directions_that_differ_are_told_where_nothing_else_explains_it() {
    let mut run = pair(CONNECTX_5);
    run.measurements
        .extend([write(97.0, 0), back(write(86.0, 0))]);
    let graded = GradedRun::new(&run);
    let found = faults(&graded);
    assert_eq!(
        roots(&run),
        [(FaultKind::BandwidthBelowCeiling, Severity::Warning)]
    );
    assert!(
        found
            .iter()
            .any(|fault| fault.kind == FaultKind::AsymmetricPair && fault.because_of == Some(0))
    );
}

#[test]
fn silence_is_loss_of_everything_and_a_lost_node_is_the_node() {
    let failed = |kind| Measurement {
        kind,
        outcome: MeasurementOutcome::Failed {
            error: "no answer".to_owned(),
        },
        ..write(1.0, 0)
    };
    let mut run = pair(CONNECTX_5);
    let kinds = [TestKind::Reachability, write(1.0, 0).kind];
    run.measurements.extend(
        kinds
            .into_iter()
            .flat_map(|kind| [failed(kind), back(failed(kind))]),
    );
    assert_eq!(
        roots(&run),
        [(FaultKind::PathLosesPackets, Severity::Fault)]
    );
    run.lost.push(LostNode {
        host: "b".to_owned(),
        why: "the session ended".to_owned(),
        offset_milliseconds: 4200,
    });
    assert_eq!(roots(&run), [(FaultKind::NodeSlow, Severity::Fault)]);
    // RDMA alone does not work: something else than the cable.
    let mut run = pair(CONNECTX_5);
    run.measurements
        .extend([failed(kinds[1]), back(failed(kinds[1]))]);
    assert_eq!(
        roots(&run),
        [(FaultKind::BandwidthBelowCeiling, Severity::Fault)]
    );
}

#[test]
fn a_port_that_answers_for_another_explains_what_fails() {
    let mut run = pair(CONNECTX_5);
    run.measurements.push(Measurement {
        kind: TestKind::Reachability,
        outcome: MeasurementOutcome::Measured(MeasurementFigures::Reach(
            ReachabilityFigure::OtherPort {
                expected: "02:00:00:00:00:01".parse().unwrap(),
                found: "02:00:00:00:00:02".parse().unwrap(),
                interface: Some("enp1s0f1np1".to_owned()),
            },
        )),
        ..write(1.0, 0)
    });
    run.measurements.push(Measurement {
        outcome: MeasurementOutcome::Failed {
            error: "retry exceeded".to_owned(),
        },
        ..write(1.0, 0)
    });
    assert_eq!(roots(&run), [(FaultKind::WrongNeighbour, Severity::Fault)]);
}

#[test]
fn link_counters_are_told_by_port() {
    let mut run = at(CONNECTX_5, 97.0);
    run.measurements[0].counters = CounterGrowth {
        to: grown([
            ("rx_symbol_err_phy", 12),
            ("rx_corrected_bits_phy", 9_000_000),
            ("rx_bytes_phy", 1_000_000_000),
        ]),
        ..CounterGrowth::default()
    };
    let expected = [
        (FaultKind::LinkErrorsGrowing, Severity::Warning),
        (FaultKind::OpticsDegraded, Severity::Warning),
    ];
    assert_eq!(roots(&run), expected);
}

fn wild_counters() -> impl Strategy<Value = std::collections::BTreeMap<String, u64>> {
    let names = prop::sample::select(vec![
        "sent_pkts",
        "rcvd_pkts",
        "port_xmit_packets",
        "out_of_sequence",
        "packet_seq_err",
        "local_ack_timeout_err",
        "rx_prio3_pause_duration",
        "rp_cnp_handled",
        "symbol_error",
        "rx_corrected_bits_phy",
        "rx_bytes_phy",
    ]);
    let value = prop_oneof![Just(0), Just(u64::MAX), any::<u64>()];
    prop::collection::btree_map(names.prop_map(str::to_owned), value, 0..8)
}

proptest! {
    /// A stored run is somebody's file: whatever is in it, grading returns.
    #[test]
    fn no_run_is_too_wild_to_be_graded(
        rate in prop_oneof![Just(0.0), Just(-1.0), Just(f64::MAX), any::<f64>()],
        mtu in any::<u32>(),
        numbers in prop::collection::vec(any::<u64>(), 5),
        windows in prop::collection::vec(any::<u64>(), 0..12),
        size in prop::option::of(any::<u64>()),
        from in wild_counters(),
        to in wild_counters(),
        phase in prop::sample::select(vec![TestConcurrency::Solo, TestConcurrency::Round, TestConcurrency::AllRails, TestConcurrency::Incast, TestConcurrency::Soak]),
    ) {
        let mut run = twins(60.0, 30.0);
        for port in run.header.nodes.iter_mut().flat_map(|node| &mut node.ports) {
            port.rate_gbps = Some(Gbps(rate));
            port.path_mtu = Some(crosstie_model::Mtu(mtu));
            port.interface_mtu = Some(crosstie_model::Mtu(mtu));
            port.header_bytes = Some(mtu);
        }
        for one in &mut run.measurements {
            one.phase = phase;
            one.size = size;
            one.offset_milliseconds = numbers[0];
            one.counters = CounterGrowth {
                from: from.clone(),
                to: to.clone(),
                nanoseconds: Some(numbers[1]),
                bytes: Some(numbers[2]),
            };
            if let MeasurementOutcome::Measured(MeasurementFigures::Bandwidth(figures)) = &mut one.outcome {
                figures.bytes = numbers[2];
                figures.nanoseconds = numbers[3];
                figures.windows.clone_from(&windows);
                figures.window_nanoseconds = numbers[4];
                figures.queue_not_full_nanoseconds = Some(numbers[0]);
            }
        }
        let graded = GradedRun::new(&run);
        let found = faults(&graded);
        prop_assert!(found.iter().enumerate().all(|(place, fault)| fault.because_of.is_none_or(|root| root < place)));
        let _ = crate::compare::compare(&run, &run);
        let _ = untested(&run, 4);
    }
}
