use super::*;
use crate::{Cable, Gbps, Mtu};

fn end(host: &str, rail: u32) -> MeasuredEnd {
    MeasuredEnd {
        host: host.to_owned(),
        device: Some("mlx5_0".to_owned()),
        interface: Some("enp1s0f0np0".to_owned()),
        address: Some([10, 77, 0, 1].into()),
        rail,
        cable: Some("a:p0 – b:p0".to_owned()),
    }
}

fn header() -> RunHeader {
    let node = |host: &str| RunNode {
        host: host.to_owned(),
        kernel: Some("6.17.0-1008-nvidia".to_owned()),
        ports: vec![RunPort {
            device: "mlx5_0".to_owned(),
            port: 1,
            interface: Some("enp1s0f0np0".to_owned()),
            cage: Some("p0".to_owned()),
            model: None,
            firmware: Some("28.45.4028".to_owned()),
            software: false,
            link_layer: None,
            rate_gbps: Some(Gbps(200.0)),
            interface_mtu: Some(Mtu(9000)),
            path_mtu: Some(Mtu(4096)),
            header_bytes: Some(82),
            pcie: Vec::new(),
        }],
        ..RunNode::default()
    };
    RunHeader {
        format: FORMAT,
        started: "2026-11-01T12:00:00Z".to_owned(),
        crosstie: "0.1.0".to_owned(),
        cluster: Some("sparks".to_owned()),
        options: RunOptions {
            mode: ProofMode::Soak { seconds: 600 },
            test_milliseconds: 1000,
            sizes: vec![65536],
            queue_pairs: vec![1, 4],
            rate_gbps: None,
        },
        nodes: vec![node("a"), node("b")],
        cabling: vec![Cable::Direct {
            a: "a:p0".parse().unwrap(),
            b: "b:p0".parse().unwrap(),
            number: None,
        }],
        groups: vec![vec![end("a", 0), end("b", 0)]],
    }
}

fn measurement() -> Measurement {
    let grown = |name: &str, by| [(name.to_owned(), by)].into();
    Measurement {
        kind: TestKind::RdmaBandwidth(RdmaOperation::Write),
        phase: TestConcurrency::Round,
        round: 3,
        from: end("a", 0),
        to: end("b", 0),
        offset_milliseconds: 1500,
        size: Some(65536),
        queue_pairs: Some(4),
        outcome: MeasurementOutcome::Measured(MeasurementFigures::Bandwidth(BandwidthFigures {
            bytes: 12_500_000_000,
            messages: 190_735,
            nanoseconds: 1_000_000_000,
            windows: vec![1_250_000_000; 10],
            window_nanoseconds: 100_000_000,
            processor_nanoseconds: 999_000_000,
            threads: 1,
            complete: true,
            ..BandwidthFigures::default()
        })),
        counters: CounterGrowth {
            from: grown("port_xmit_wait", 7),
            to: grown("out_of_sequence", u64::MAX),
            nanoseconds: Some(1_200_000_000),
            bytes: None,
        },
        doubts: vec!["another program uses the device".to_owned()],
    }
}

fn failed(error: &str) -> Measurement {
    Measurement {
        kind: TestKind::TcpLatency,
        outcome: MeasurementOutcome::Failed {
            error: error.to_owned(),
        },
        counters: CounterGrowth::default(),
        ..measurement()
    }
}

fn text() -> String {
    let (mut writer, mut text) = RunWriter::new(header()).unwrap();
    text += &writer.measurement(measurement()).unwrap();
    text += &writer.measurement(failed("no route")).unwrap();
    let lost = LostNode {
        host: "b".to_owned(),
        why: "the session ended".to_owned(),
        offset_milliseconds: 9000,
    };
    text += &writer.lost(lost).unwrap();
    let end = RunEnd {
        reason: RunEndReason::Interrupted,
        offset_milliseconds: 9100,
    };
    text + &writer.end(end).unwrap()
}

#[test]
fn a_run_survives_a_round_trip() {
    let run = read(&text()).unwrap();
    assert_eq!(run.header, header());
    assert_eq!(run.measurements, [measurement(), failed("no route")]);
    assert_eq!(run.lost.len(), 1);
    assert!(!run.is_finished() && !run.torn);
    assert_eq!(run.measurements[0].bandwidth().unwrap().gbps(), Some(100.0));
    assert_eq!(
        run.port(&run.measurements[0].from).unwrap().device,
        "mlx5_0"
    );
    for line in text().lines() {
        let _: serde_json::Value = serde_json::from_str(line).unwrap();
    }
}

#[test]
fn a_run_that_is_cut_off_anywhere_keeps_what_was_whole() {
    let text = text();
    let lines: Vec<usize> = text.match_indices('\n').map(|(at, _)| at + 1).collect();
    for cut in 0..text.len() {
        if !text.is_char_boundary(cut) {
            continue;
        }
        let whole = lines.iter().filter(|end| **end <= cut).count();
        match read(&text[..cut]) {
            Ok(run) => {
                let records = 1 + run.measurements.len() + run.lost.len();
                assert_eq!(records, whole.min(4), "cut at {cut}");
                assert_eq!(run.torn, !lines.contains(&cut), "cut at {cut}");
            }
            Err(ReadRunError::Empty) => assert_eq!(whole, 0),
            // A few letters could be anybody's.
            Err(ReadRunError::Foreign) => assert!(cut < 10),
            Err(error) => panic!("cut at {cut}: {error}"),
        }
    }
}

#[test]
fn zeroes_after_a_power_cut_are_a_torn_line() {
    let text = text() + "\0\0\0\0";
    assert!(read(&text).unwrap().torn);
}

#[test]
fn a_changed_run_is_refused() {
    let text = text();
    let longer = text.clone() + "garbage behind the end";
    assert!(matches!(read(&longer), Err(ReadRunError::Changed { .. })));
    let faster = text.replacen("12500000000", "22500000000", 1);
    assert!(matches!(
        read(&faster),
        Err(ReadRunError::Changed { line: 2 })
    ));
    let spaced = text.replacen(r#""run":"#, r#""run": "#, 1);
    assert!(matches!(
        read(&spaced),
        Err(ReadRunError::Changed { line: 1 })
    ));
    let lines: Vec<&str> = text.lines().collect();
    let without = |index: usize| {
        let kept = lines.iter().enumerate().filter(|(at, _)| *at != index);
        let kept: Vec<&str> = kept.map(|(_, line)| *line).collect();
        kept.join(
            "
",
        ) + "
"
    };
    for index in 0..lines.len() - 1 {
        let error = read(&without(index)).unwrap_err();
        assert!(matches!(error, ReadRunError::Changed { .. }), "{error}");
    }
    let swapped = [lines[0], lines[2], lines[1]].join("\n") + "\n";
    assert!(matches!(
        read(&swapped),
        Err(ReadRunError::Changed { line: 2 })
    ));
}

#[test]
fn foreign_files_are_told_apart() {
    for foreign in ["format = 1\n", "{}\n", "\n", "[]", "{\"seal\":\"äöü\"}\n"] {
        let error = read(foreign).unwrap_err();
        assert!(
            matches!(error, ReadRunError::Foreign | ReadRunError::Empty),
            "{foreign}: {error}"
        );
    }
    assert!(matches!(read(""), Err(ReadRunError::Empty)));
    let mut chain = seal::SealChain::default();
    let newer = chain.seal(r#"{"record":"header","format":2,"shape":"another"}"#);
    assert!(matches!(
        read(&newer),
        Err(ReadRunError::Format { found: 2 })
    ));
}

#[test]
fn sealed_nonsense_is_refused_with_its_line() {
    let sealed = |records: &[&str]| {
        let mut chain = seal::SealChain::default();
        let header = serde_json::to_string(&RunRecord::Header(header())).unwrap();
        let mut text = chain.seal(&header);
        for record in records {
            text += &chain.seal(record);
        }
        read(&text).unwrap_err()
    };
    let error = sealed(&[r#"{"record":"collective","op":"all-reduce"}"#]);
    assert!(matches!(error, ReadRunError::UnknownRecord { line: 2, .. }));
    let error = sealed(&[r#"{"record":"lost","host":"x","why":"","offset_milliseconds":1}"#]);
    assert!(matches!(error, ReadRunError::UnknownNode { line: 2, .. }));
    let error = sealed(&[r#"{"record":"lost"}"#]);
    assert!(matches!(error, ReadRunError::Malformed { line: 2, .. }));
    let end = r#"{"record":"end","reason":{"why":"finished"},"offset_milliseconds":1}"#;
    let error = sealed(&[end, end]);
    assert!(matches!(error, ReadRunError::OutOfPlace { line: 3, .. }));
}

#[test]
fn nothing_grows_without_bound() {
    let (mut writer, first) = RunWriter::new(header()).unwrap();
    let line = writer.measurement(failed(&"ä".repeat(100_000))).unwrap();
    let run = read(&(first + &line)).unwrap();
    assert_eq!(run.measurements[0].error().unwrap().chars().count(), 4096);
    let mut wide = measurement();
    wide.outcome = MeasurementOutcome::Measured(MeasurementFigures::Bandwidth(BandwidthFigures {
        windows: vec![1; 1_000_000],
        ..BandwidthFigures::default()
    }));
    let error = writer.measurement(wide).unwrap_err();
    assert!(matches!(error, WriteRunError::Limit(_)), "{error}");
}
