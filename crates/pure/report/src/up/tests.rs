use std::time::Duration;

use crosstie_doctor::{Diagnosis, NodeFindings};
use crosstie_grade::reach::{
    AddressEnd, AddressPair, JudgedPair, ReachabilityOutcome, ReachabilityProof,
};
use crosstie_model::{
    Cable, Finding, PortRef, Severity,
    plan::{EngineKind, EngineSetting},
};

use super::*;
use crate::{
    change::{ApplyReport, NodeChange, NodeChangeOutcome as Became},
    init::{InitCage, InitNode, InitReport},
    made_up,
    prove::ProveReport,
    suggested_command::CommandContext,
    text::Palette,
};

fn finding(id: &str, severity: Severity) -> Finding {
    Finding {
        id: id.to_owned(),
        severity,
        subject: "enp1s0f0np0".to_owned(),
        evidence: Vec::new(),
        cause: "somebody".to_owned(),
        fix: "Mend it.\nsudo mend".to_owned(),
        commands: vec!["sudo mend".to_owned()],
        caused_by: None,
    }
}

fn diagnosis(of_node: Vec<Finding>, cluster: Vec<Finding>) -> Diagnosis {
    Diagnosis {
        nodes: vec![NodeFindings {
            host: "spark-a".to_owned(),
            error: None,
            findings: of_node,
            notes: Vec::new(),
        }],
        cluster,
    }
}

#[test]
fn what_is_gone_or_milder_in_the_foreseen_state_will_be_fixed() {
    let now = diagnosis(
        vec![
            finding("port-rate-low", Severity::Fault),
            finding("memlock-limited", Severity::Fault),
            finding("mtu-small", Severity::Warning),
            finding("clock-unsynchronised", Severity::Warning),
            finding("kernel-old", Severity::Info),
        ],
        vec![finding("mtu-mismatch", Severity::Fault)],
    );
    let then = diagnosis(
        vec![
            finding("port-rate-low", Severity::Fault),
            finding("memlock-limited", Severity::Warning),
            finding("clock-unsynchronised", Severity::Warning),
        ],
        vec![],
    );
    let seen = mark_fixed(&now, Some(&then));
    let fates: Vec<_> = seen
        .iter()
        .map(|seen| {
            (
                seen.finding.id.as_str(),
                seen.will_be_fixed,
                seen.blocks_apply(),
            )
        })
        .collect();
    assert_eq!(
        fates,
        [
            ("port-rate-low", false, true),
            ("memlock-limited", true, false),
            ("mtu-small", true, false),
            ("clock-unsynchronised", false, false),
            ("kernel-old", true, false),
            ("mtu-mismatch", true, false),
        ]
    );
    insta::assert_snapshot!(findings(
        &seen,
        "crosstie doctor --all --sudo",
        Palette::Plain
    ));
    let nothing_planned = super::mark_fixed(&now, None);
    assert!(nothing_planned.iter().all(|seen| !seen.will_be_fixed));
}

#[test]
fn the_board_shows_each_node_at_its_stage() {
    let row = |done: usize, then: StageCell| {
        std::array::from_fn(|index| match index {
            index if index < done => StageCell::Done,
            index if index == done => then.clone(),
            _ => StageCell::Ahead,
        })
    };
    let running = |words: &str| StageCell::Running(words.to_owned());
    let mut shown = ProgressBoard {
        title: "sparks".to_owned(),
        rows: vec![
            ("spark-a".to_owned(), row(4, running("confirming"))),
            (
                "spark-b".to_owned(),
                row(4, running("waiting for its turn")),
            ),
            ("spark-c\u{1b}[2J".to_owned(), row(1, StageCell::Failed)),
            ("spark-d".to_owned(), row(8, StageCell::Done)),
        ],
    };
    let lines = |shown: &ProgressBoard, columns| {
        let size = TerminalSize { columns, lines: 24 };
        board(shown, Duration::from_secs(42), size, Palette::Plain).join("\n")
    };
    insta::assert_snapshot!(lines(&shown, 79));
    let narrow = lines(&shown, 30);
    assert!(
        narrow.lines().all(|line| line.chars().count() <= 30),
        "{narrow}"
    );
    shown.rows = vec![("spark".to_owned(), row(0, running("connecting"))); 20];
    assert!(lines(&shown, 79).ends_with("  and 4 more"));
}

fn setting(engine: EngineKind, name: &str, value: &str) -> EngineSetting {
    EngineSetting {
        engine,
        name: name.to_owned(),
        value: value.to_owned(),
        why: "it says so".to_owned(),
    }
}

fn settings() -> Vec<EngineSetting> {
    vec![
        setting(EngineKind::Nccl, "NCCL_IB_HCA", "=rocep1s0f0,roceP2p1s0f0"),
        setting(EngineKind::Nccl, "NCCL_SOCKET_IFNAME", "it's; reboot"),
        setting(EngineKind::Ucx, "UCX_NET_DEVICES", "rocep1s0f0:1"),
    ]
}

#[test]
fn settings_are_quoted_for_a_shell() {
    let environment = |node: &str, settings| NodeEngineSettings {
        node: node.to_owned(),
        file: None,
        settings,
    };
    let all = [
        environment("spark-a", settings()),
        environment("spark-b", settings()),
        environment("login", vec![]),
    ];
    let all: Vec<(&str, &[EngineSetting])> = all
        .iter()
        .map(|one| (one.node.as_str(), one.settings.as_slice()))
        .collect();
    insta::assert_snapshot!(crate::env::exports(&all, false, Palette::Plain));
}

fn proof() -> ReachabilityProof {
    let end = |node: &str, last: u8| AddressEnd {
        node: node.to_owned(),
        interface: "enp1s0f0np0".to_owned(),
        address: [10, 77, 0, last].into(),
    };
    let judged = |from: (&str, u8), to: (&str, u8)| JudgedPair {
        pair: AddressPair {
            from: end(from.0, from.1),
            to: end(to.0, to.1),
            rail: 0,
            bytes: Some(9000),
        },
        outcome: ReachabilityOutcome::Answered { mac_checked: true },
    };
    ReachabilityProof {
        pairs: vec![
            judged(("spark-a", 1), ("spark-b", 2)),
            judged(("spark-b", 2), ("spark-a", 1)),
        ],
    }
}

fn up() -> UpReport {
    let mut up = UpReport::new("cluster.toml");
    up.cluster = Some("sparks".to_owned());
    let end = |node: &str| PortRef {
        node: node.to_owned(),
        cage: "p0".to_owned(),
    };
    let cage = |id: &str| InitCage {
        id: id.to_owned(),
        devices: Vec::new(),
        interfaces: Vec::new(),
        state: "cabled",
        by_hearing: false,
    };
    let node = |name: &str| InitNode {
        name: name.to_owned(),
        number: None,
        cages: vec![cage("p0"), cage("p1")],
    };
    up.cabling = Some(InitReport {
        cables: vec![Cable::Direct {
            a: end("spark-a"),
            b: end("spark-b"),
            number: Some(0),
        }],
        notes: Vec::new(),
        nodes: vec![node("spark-a"), node("spark-b")],
        file: "cluster.toml".to_owned(),
        written: true,
        added: Vec::new(),
    });
    let seconds = [3.2, 8.1, 2.4, 0.01, 24.9, 4.4, 19.7, 0.0];
    up.stages = UpStage::ALL
        .into_iter()
        .zip(seconds)
        .map(|(stage, seconds)| StageTime {
            stage,
            seconds,
            summary: String::new(),
        })
        .collect();
    up
}

#[test]
fn the_last_screen_says_what_was_found_changed_and_measured() {
    let mut up = up();
    let confirmed = |node: &str, seconds| {
        let mut change = NodeChange::new(node, Became::Confirmed);
        change.seconds = Some(seconds);
        change
    };
    up.changes = vec![confirmed("spark-a", 7), confirmed("spark-b", 12)];
    up.proof = Some(proof());
    let warning = |node: &str| UpFinding {
        node: Some(node.to_owned()),
        will_be_fixed: false,
        finding: finding("clock-unsynchronised", Severity::Warning),
    };
    up.left = vec![warning("spark-a"), warning("spark-b")];
    let environment = |node: &str| NodeEngineSettings {
        node: node.to_owned(),
        file: Some(format!("/house/.local/state/crosstie/sparks/env/{node}.sh")),
        settings: settings(),
    };
    up.environments = vec![environment("spark-a"), environment("spark-b")];
    up.undo = Some("crosstie rollback".to_owned());
    up.next = Some("crosstie doctor --watch".to_owned());
    up.measured = Some(measured(false));
    up.conclude();
    assert_eq!(up.verdict, UpVerdict::Proven);
    insta::assert_snapshot!(screen(&up, Some("/house"), Palette::Plain));
}

fn measured(slow: bool) -> UpMeasurement {
    let path = |extension: &str| {
        format!("/house/.local/state/crosstie/sparks/runs/2026-11-17T06-00-00Z.{extension}")
    };
    UpMeasurement {
        skipped: None,
        prove: Some(ProveReport::new(&made_up::two_sparks(slow), None)),
        run: Some(path("jsonl")),
        report: Some(path("html")),
    }
}

/// "Proven" is said of what was measured, and has no fault.
#[test]
fn only_what_was_measured_is_proven() {
    let mut up = up();
    up.conclude();
    assert_eq!(up.verdict, UpVerdict::NotUp);
    up.proof = Some(proof());
    let used = "spark-a: rocep1s0f0 is not measured: it is in use by python3 (4711)";
    up.measured = Some(UpMeasurement::skipped(used.to_owned()));
    up.conclude();
    assert_eq!(up.verdict, UpVerdict::Reachable);
    let reachable = screen(&up, None, Palette::Plain);
    assert!(
        reachable.starts_with("✓ sparks is up: reachable, not measured\n"),
        "{reachable}"
    );
    assert!(reachable.contains(used) && !reachable.contains("proven"));
    up.measured = Some(measured(true));
    up.stopped = Some(FailedStage {
        stage: UpStage::Measure,
        why: "2 healthy, 0 warnings, 2 faults".to_owned(),
    });
    up.conclude();
    assert_eq!(up.verdict, UpVerdict::NotProven);
    let slow = screen(&up, None, Palette::Plain);
    assert!(
        slow.starts_with("✗ sparks is up, and not proven: 2 healthy"),
        "{slow}"
    );
}

#[test]
fn the_last_screen_says_that_the_cluster_is_half_configured() {
    let mut up = up();
    up.stages.truncate(5);
    up.stopped = Some(FailedStage {
        stage: UpStage::Apply,
        why: "spark-b did not come through".to_owned(),
    });
    let back = NodeChange::new("spark-b", Became::RolledBack).with_reason("it was asked for");
    let changes = ApplyReport::new(vec![NodeChange::new("spark-a", Became::Confirmed), back]);
    let again = "crosstie up --output cluster.toml";
    let undo = "crosstie rollback --run 20261116T175500Z-1f2e3d4c --cluster cluster.toml";
    up.half_configured = changes.half_configured(again, undo);
    up.changes = changes.nodes;
    up.undo = Some(undo.to_owned());
    up.next = Some(again.to_owned());
    insta::assert_snapshot!(screen(&up, Some("/house"), Palette::Plain));
}

#[test]
fn the_last_screen_says_where_it_ended() {
    let mut up = up();
    up.stages.truncate(3);
    up.findings = vec![
        UpFinding {
            node: None,
            will_be_fixed: false,
            finding: finding("port-rate-differs", Severity::Fault),
        },
        UpFinding {
            node: Some("spark-a".to_owned()),
            will_be_fixed: true,
            finding: finding("mtu-small", Severity::Warning),
        },
    ];
    up.stopped = Some(FailedStage {
        stage: UpStage::Doctor,
        why: "1 fault that the plan does not mend".to_owned(),
    });
    up.next = Some("crosstie explain port-rate-differs".to_owned());
    insta::assert_snapshot!(screen(&up, Some("/house"), Palette::Plain));
}

/// What the plan would have mended is still there.
#[test]
fn a_plan_that_was_not_carried_out_has_mended_nothing() {
    let mut up = up();
    up.stopped = Some(FailedStage {
        stage: UpStage::Plan,
        why: "nothing was changed".to_owned(),
    });
    let seen = |id: &str, severity, will_be_fixed| UpFinding {
        node: Some("spark-a".to_owned()),
        will_be_fixed,
        finding: finding(id, severity),
    };
    up.findings = vec![
        seen("memlock-limited", Severity::Fault, true),
        seen("clock-unsynchronised", Severity::Warning, false),
    ];
    let offer = CommandContext {
        lab: Some("x".to_owned()),
        ..CommandContext::default()
    };
    up.add_commands(&offer, "crosstie up --lab x");
    let text = screen(&up, None, Palette::Plain);
    assert!(text.contains("fault    memlock-limited  spark-a"), "{text}");
    assert!(text.contains("1 fault, 1 warning"), "{text}");
    assert!(text.contains("next      crosstie plan --lab x"), "{text}");
    up.changes = vec![NodeChange::new("spark-a", Became::Confirmed)];
    let text = screen(&up, None, Palette::Plain);
    assert!(!text.contains("memlock-limited"), "{text}");
}
