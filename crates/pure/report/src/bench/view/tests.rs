//! Tables as they are printed.

use super::*;
use crate::bench::{
    AllRailsResult, BenchBandwidth, BenchLatencies, BenchLatency, BenchOperation, BenchRequest,
    BidirectionalBandwidth, BothDirections, TcpBench, TcpRailResult,
};

fn bandwidth(gbps: f64) -> BenchBandwidth {
    BenchBandwidth {
        gbps,
        worst_gbps: Some(gbps / 2.0),
        messages_per_second: Some(1000.4),
        size: 65536,
        depth: 128,
        bytes: 1,
        nanoseconds: 1,
        processor_nanoseconds: 1,
        gbytes_per_processor_second: Some(gbps / 8.0),
    }
}

fn missing<T>() -> MeasuredValue<T> {
    MeasuredValue::NotMeasured("spark-b: no libibverbs".to_owned())
}

fn bench() -> BenchReport {
    BenchReport {
        format: BenchReport::FORMAT,
        nodes: ["spark-a".to_owned(), "spark-b".to_owned()],
        asked: BenchRequest {
            operation: BenchOperation::Write,
            size: 65536,
            queue_pairs: 1,
            depth: 128,
            list: 1,
        },
        rails: vec![RailResult {
            devices: ["rocep1s0f0".to_owned(), "mlx5_0".to_owned()],
            bandwidth: BothDirections {
                there: MeasuredValue::Measured(bandwidth(98.5)),
                back: missing(),
            },
            bidirectional: None,
            sweep: None,
            latency: BenchLatencies {
                write_with_immediate: missing(),
                send: missing(),
            },
            data: None,
        }],
        all_rails: None,
        tcp: None,
        peers: Vec::new(),
        counters: Vec::new(),
        counter_findings: Vec::new(),
        findings: Vec::new(),
        doubts: vec!["Soft-RoCE: figures of this machine's processor, not of a card".to_owned()],
    }
}

#[test]
fn what_was_not_measured_is_said_and_never_zero() {
    let text = view(&bench(), Palette::Plain);
    let expected = "\
RDMA: 65536 bytes, 1 queue pair a rail; half round trips of 2 bytes; processor time of the senders
Gb/s without headers, worst 0.1 s behind it

  rail                 test               spark-a → spark-b  spark-b → spark-a  both at once  p50           p99.9         GB/CPU-s
  rocep1s0f0 – mlx5_0  RDMA write         98.50 (49.25)      not measured                                                 12.31
                       write+imm latency                                                      not measured  not measured
                       send latency                                                           not measured  not measured

  ✗ spark-b: no libibverbs
  ! Soft-RoCE: figures of this machine's processor, not of a card
";
    assert_eq!(text, expected);
    let json = serde_json::to_value(bench()).unwrap();
    let back = &json["rails"][0]["bandwidth"]["back"];
    assert_eq!(back["not_measured"], "spark-b: no libibverbs");
}

#[test]
fn both_ways_sizes_and_data_have_their_places() {
    let mut bench = bench();
    let verified = |wrong_bytes| VerifiedData {
        size: 4096,
        messages: 2,
        bytes: 8192,
        wrong_bytes,
    };
    let rail = &mut bench.rails[0];
    rail.bidirectional = Some(MeasuredValue::Measured(BidirectionalBandwidth {
        gbps: 150.0,
        there: bandwidth(80.0),
        back: bandwidth(70.0),
    }));
    rail.sweep = Some(BothDirections {
        there: MeasuredValue::Measured(vec![bandwidth(1.0)]),
        back: missing(),
    });
    rail.data = Some(BothDirections {
        there: MeasuredValue::Measured(vec![verified(0), verified(3)]),
        back: MeasuredValue::Measured(vec![verified(0)]),
    });
    assert_eq!(bench.wrong_bytes(), 3);
    let text = view(&bench, Palette::Plain);
    for wanted in [
        "150.00 = 80.00 + 70.00",
        "  65536  1.00               1000        not measured",
        "3 of 16384 bytes wrong  0 of 8192 bytes wrong",
    ] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
}

/// RDMA and TCP of each rail, then of all of them, in one table.
#[test]
fn rdma_stands_beside_tcp() {
    let both = |there, back| BothDirections {
        there: MeasuredValue::Measured(bandwidth(there)),
        back: MeasuredValue::Measured(bandwidth(back)),
    };
    let latency = |p50_ns| {
        MeasuredValue::Measured(BenchLatency {
            least_ns: 1,
            p50_ns,
            p99_ns: 8_000,
            p999_ns: 20_000,
            most_ns: 30_000,
            count: 5,
        })
    };
    let mut bench = bench();
    bench.doubts.clear();
    bench.rails[0].bandwidth = both(98.0, 97.0);
    bench.rails[0].latency = BenchLatencies {
        write_with_immediate: latency(1_890),
        send: latency(1_950),
    };
    bench.all_rails = Some(AllRailsResult {
        bandwidth: both(196.0, 195.0),
        bidirectional: None,
        data: None,
    });
    bench.tcp = Some(TcpBench {
        streams: 4,
        block: 1 << 20,
        message: 16,
        rails: vec![TcpRailResult {
            interfaces: ["a0".to_owned(), "b0".to_owned()],
            addresses: ["192.0.2.1".to_owned(), "192.0.2.2".to_owned()],
            one_stream: both(30.0, 31.0),
            several_streams: both(90.0, 91.0),
            both_ways: MeasuredValue::Measured(bandwidth(150.0)),
            latency: latency(7_500),
        }],
        all_rails: Some(both(180.0, 181.0)),
    });
    let expected = "\
RDMA: 65536 bytes, 1 queue pair a rail; half round trips of 2 bytes; processor time of the senders
TCP: blocks of 1048576 bytes; half round trips of 16 bytes; processor time of both ends
Gb/s without headers, worst 0.1 s behind it

  rail                 test               spark-a → spark-b  spark-b → spark-a  both at once  p50      p99.9     GB/CPU-s
  rocep1s0f0 – mlx5_0  RDMA write         98.00 (49.00)      97.00 (48.50)                                       12.12
                       write+imm latency                                                      1.89 µs  20.00 µs
                       send latency                                                           1.95 µs  20.00 µs
  a0 – b0              TCP, 1 stream      30.00 (15.00)      31.00 (15.50)                    7.50 µs  20.00 µs  3.75
                       TCP, 4 streams     90.00 (45.00)      91.00 (45.50)      150.00                           11.25
  all rails at once    RDMA write         196.00 (98.00)     195.00 (97.50)                                      24.38
                       TCP, 4 streams     180.00 (90.00)     181.00 (90.50)                                      22.50
";
    assert_eq!(view(&bench, Palette::Plain), expected);
}

/// A counter of the whole host is found on each of its ports, and grows in most tests.
#[test]
fn a_counter_that_grew_everywhere_is_told_once() {
    let found = |run: &str, port: &str, counted| CounterFinding {
        run: run.to_owned(),
        node: "spark-a".to_owned(),
        port: port.to_owned(),
        counter: "tcp/RetransSegs".to_owned(),
        kind: CounterFindingKind::Error,
        counted,
        text: format!("tcp/RetransSegs grew by {counted}"),
    };
    let mut bench = bench();
    bench.counter_findings = vec![
        found("TCP, 1 stream →", "rocep1s0f0", 81),
        found("TCP, 1 stream →", "roceP2p1s0f0", 81),
        found("TCP, 1 stream ←", "rocep1s0f0", 7),
        found("TCP, 1 stream ←", "roceP2p1s0f0", 7),
    ];
    let text = view(&bench, Palette::Plain);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = "! TCP, 1 stream →: spark-a rocep1s0f0, roceP2p1s0f0: tcp/RetransSegs grew by 81; it grew in another test, too";
    assert!(text.contains(line), "{text}");
    assert_eq!(text.matches("RetransSegs").count(), 1, "{text}");
}
