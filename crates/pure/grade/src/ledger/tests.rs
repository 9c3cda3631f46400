use crosstie_model::run::{CounterGrowth, MeasurementFigures, MeasurementOutcome, TestKind};
use proptest::prelude::*;

use super::*;
use crate::{
    ceiling::RunPortIndex,
    sample_runs::{SPARK, grown, pair, write},
};

/// What a pair of Sparks on one twin leaves of a figure, with these counters of the sender.
fn with(gbps: f64, change: impl FnOnce(&mut Measurement)) -> BandwidthLedger {
    let run = pair(SPARK);
    let mut measurement = write(gbps, 0);
    change(&mut measurement);
    let ceiling =
        RunPortIndex::new(&run).of_pair(measurement.kind, &measurement.from, &measurement.to);
    ledger(&measurement, &ceiling.unwrap()).unwrap()
}

fn causes(ledger: &BandwidthLedger) -> Vec<(&[LossCause], bool)> {
    ledger
        .shares
        .iter()
        .map(|share| (share.causes.as_slice(), share.at_most))
        .collect()
}

#[test]
fn physics_comes_first() {
    let ledger = with(110.0, |_| {});
    let deductions: Vec<&str> = ledger
        .deductions
        .iter()
        .map(|one| one.what.as_str())
        .collect();
    assert_eq!(
        deductions,
        ["headers of 4096-byte packets", "PCIe: Gen5 x4 at a"]
    );
    assert!(ledger.shares.is_empty());
}

#[test]
fn time_paused_is_bandwidth_lost() {
    let ledger = with(85.0, |one| {
        one.counters = CounterGrowth {
            from: grown([("rx_prio3_pause_duration", 200_000), ("rx_prio3_pause", 17)]),
            nanoseconds: Some(1_000_000_000),
            ..CounterGrowth::default()
        };
    });
    assert_eq!(causes(&ledger), [(&[LossCause::Pause][..], false)]);
    assert!(
        (ledger.shares[0].gbps - 22.6).abs() < 0.1,
        "a fifth of the time: {ledger:?}"
    );
}

#[test]
fn packets_sent_again_are_counted_and_timeouts_are_not() {
    let again = |timeouts| {
        with(90.0, |one| {
            let bytes = 1 << 33;
            one.counters = CounterGrowth {
                // A tenth more than the messages need.
                from: grown([
                    ("port_xmit_packets", bytes / 4096 * 10 / 9),
                    ("packet_seq_err", 900),
                    ("local_ack_timeout_err", timeouts),
                ]),
                bytes: Some(bytes),
                ..CounterGrowth::default()
            };
        })
    };
    let counted = again(0);
    assert_eq!(
        causes(&counted),
        [(&[LossCause::Retransmission][..], false)]
    );
    assert!((counted.shares[0].gbps - 10.0).abs() < 0.1, "{counted:?}");
    assert_eq!(
        causes(&again(3)),
        [(&[LossCause::Retransmission][..], true)]
    );
}

#[test]
fn causes_without_an_amount_share_what_is_left() {
    let ledger = with(60.0, |one| {
        one.counters.from = grown([("rp_cnp_handled", 9), ("outbound_pci_stalled_rd_events", 4)]);
    });
    assert_eq!(
        causes(&ledger),
        [(&[LossCause::Congestion, LossCause::PcieStall][..], true)]
    );
    assert!(ledger.unexplained.abs() < f64::EPSILON);
}

#[test]
fn threads_that_sleep_are_busy_for_a_reason_and_threads_that_poll_are_not() {
    let busy = |kind| {
        with(60.0, |one| {
            one.kind = kind;
        })
    };
    assert_eq!(
        causes(&busy(TestKind::TcpBandwidth)),
        [(&[LossCause::BusyThread][..], true)]
    );
    assert!(causes(&busy(write(1.0, 0).kind)).is_empty());
    let starved = with(60.0, |one| {
        if let MeasurementOutcome::Measured(MeasurementFigures::Bandwidth(figures)) =
            &mut one.outcome
        {
            figures.queue_not_full_nanoseconds = Some(300_000_000);
        }
    });
    assert_eq!(causes(&starved), [(&[LossCause::Poster][..], false)]);
}

proptest! {
    #[test]
    fn every_gigabit_is_accounted_for(
        gbps in 0.1_f64..130.0,
        paused in 0_u64..2_000_000,
        again in 0_u64..5_000_000,
        congestion in 0_u64..3,
        room in prop::option::of(0_u64..2_000_000_000),
    ) {
        let ledger = with(gbps, |one| {
            one.counters = CounterGrowth {
                from: grown([
                    ("rx_prio3_pause_duration", paused),
                    ("port_xmit_packets", again),
                    ("packet_seq_err", again),
                    ("rp_cnp_handled", congestion),
                ]),
                bytes: Some(1 << 33),
                ..CounterGrowth::default()
            };
            if let MeasurementOutcome::Measured(MeasurementFigures::Bandwidth(figures)) = &mut one.outcome {
                figures.queue_not_full_nanoseconds = room;
            }
        });
        let physics: f64 = ledger.deductions.iter().map(|one| one.gbps).sum();
        prop_assert!((ledger.port_rate - physics - ledger.ceiling).abs() < 1e-6);
        let shares: f64 = ledger.shares.iter().map(|one| one.gbps).sum();
        prop_assert!(ledger.shares.iter().all(|one| one.gbps > 0.0));
        prop_assert!((shares + ledger.unexplained - ledger.missing()).abs() < 1e-6);
    }
}
