use std::time::Duration;

use crosstie_doctor::{Diagnosis, NodeFindings};
use crosstie_grade::reach::{End, Judged, Outcome, Pair, Proof};
use crosstie_model::{
    Cable, Finding, PortRef, Severity,
    plan::{Engine, Setting},
};

use super::*;
use crate::{
    change::{Change, Changes, Outcome as Became},
    init::{Cage, Init, Node},
    made_up,
    prove::Prove,
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
    let seen = seen(&now, Some(&then));
    let fates: Vec<_> = seen
        .iter()
        .map(|seen| (seen.finding.id.as_str(), seen.will_be_fixed, seen.stops()))
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
    let nothing_planned = super::seen(&now, None);
    assert!(nothing_planned.iter().all(|seen| !seen.will_be_fixed));
}

#[test]
fn the_board_shows_each_node_at_its_stage() {
    let row = |done: usize, then: Cell| {
        std::array::from_fn(|index| match index {
            index if index < done => Cell::Done,
            index if index == done => then.clone(),
            _ => Cell::Ahead,
        })
    };
    let running = |words: &str| Cell::Running(words.to_owned());
    let mut shown = Board {
        title: "sparks".to_owned(),
        rows: vec![
            ("spark-a".to_owned(), row(4, running("confirming"))),
            (
                "spark-b".to_owned(),
                row(4, running("waiting for its turn")),
            ),
            ("spark-c\u{1b}[2J".to_owned(), row(1, Cell::Failed)),
            ("spark-d".to_owned(), row(8, Cell::Done)),
        ],
    };
    let lines = |shown: &Board, columns| {
        let size = Size { columns, lines: 24 };
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

fn setting(engine: Engine, name: &str, value: &str) -> Setting {
    Setting {
        engine,
        name: name.to_owned(),
        value: value.to_owned(),
        why: "it says so".to_owned(),
    }
}

fn settings() -> Vec<Setting> {
    vec![
        setting(Engine::Nccl, "NCCL_IB_HCA", "=rocep1s0f0,roceP2p1s0f0"),
        setting(Engine::Nccl, "NCCL_SOCKET_IFNAME", "it's; reboot"),
        setting(Engine::Ucx, "UCX_NET_DEVICES", "rocep1s0f0:1"),
    ]
}

#[test]
fn settings_are_quoted_for_a_shell() {
    let environment = |node: &str, settings| Environment {
        node: node.to_owned(),
        file: None,
        settings,
    };
    let all = [
        environment("spark-a", settings()),
        environment("spark-b", settings()),
        environment("login", vec![]),
    ];
    let all: Vec<(&str, &[Setting])> = all
        .iter()
        .map(|one| (one.node.as_str(), one.settings.as_slice()))
        .collect();
    insta::assert_snapshot!(crate::env::exports(&all, false, Palette::Plain));
}

fn proof() -> Proof {
    let end = |node: &str, last: u8| End {
        node: node.to_owned(),
        interface: "enp1s0f0np0".to_owned(),
        address: [10, 77, 0, last].into(),
    };
    let judged = |from: (&str, u8), to: (&str, u8)| Judged {
        pair: Pair {
            from: end(from.0, from.1),
            to: end(to.0, to.1),
            rail: 0,
            bytes: Some(9000),
        },
        outcome: Outcome::Answered { mac_checked: true },
    };
    Proof {
        pairs: vec![
            judged(("spark-a", 1), ("spark-b", 2)),
            judged(("spark-b", 2), ("spark-a", 1)),
        ],
    }
}

fn up() -> Up {
    let mut up = Up::new("cluster.toml");
    up.cluster = Some("sparks".to_owned());
    let end = |node: &str| PortRef {
        node: node.to_owned(),
        cage: "p0".to_owned(),
    };
    let cage = |id: &str| Cage {
        id: id.to_owned(),
        devices: Vec::new(),
        interfaces: Vec::new(),
        state: "cabled",
        by_hearing: false,
    };
    let node = |name: &str| Node {
        name: name.to_owned(),
        number: None,
        cages: vec![cage("p0"), cage("p1")],
    };
    up.cabling = Some(Init {
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
        .map(|(stage, seconds)| Timed {
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
        let mut change = Change::new(node, Became::Confirmed);
        change.seconds = Some(seconds);
        change
    };
    up.changes = vec![confirmed("spark-a", 7), confirmed("spark-b", 12)];
    up.proof = Some(proof());
    let warning = |node: &str| Seen {
        node: Some(node.to_owned()),
        will_be_fixed: false,
        finding: finding("clock-unsynchronised", Severity::Warning),
    };
    up.left = vec![warning("spark-a"), warning("spark-b")];
    let environment = |node: &str| Environment {
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

fn measured(slow: bool) -> Measured {
    let path = |extension: &str| {
        format!("/house/.local/state/crosstie/sparks/runs/2026-11-17T06-00-00Z.{extension}")
    };
    Measured {
        skipped: None,
        prove: Some(Prove::new(&made_up::two_sparks(slow), None)),
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
    up.measured = Some(Measured::skipped(used.to_owned()));
    up.conclude();
    assert_eq!(up.verdict, UpVerdict::Reachable);
    let reachable = screen(&up, None, Palette::Plain);
    assert!(
        reachable.starts_with("✓ sparks is up: reachable, not measured\n"),
        "{reachable}"
    );
    assert!(reachable.contains(used) && !reachable.contains("proven"));
    up.measured = Some(measured(true));
    up.stopped = Some(Stopped {
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
    up.stopped = Some(Stopped {
        stage: UpStage::Apply,
        why: "spark-b did not come through".to_owned(),
    });
    let back = Change::new("spark-b", Became::RolledBack).because("it was asked for");
    let changes = Changes::new(vec![Change::new("spark-a", Became::Confirmed), back]);
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
        Seen {
            node: None,
            will_be_fixed: false,
            finding: finding("port-rate-differs", Severity::Fault),
        },
        Seen {
            node: Some("spark-a".to_owned()),
            will_be_fixed: true,
            finding: finding("mtu-small", Severity::Warning),
        },
    ];
    up.stopped = Some(Stopped {
        stage: UpStage::Doctor,
        why: "1 fault that the plan does not mend".to_owned(),
    });
    up.next = Some("crosstie explain port-rate-differs".to_owned());
    insta::assert_snapshot!(screen(&up, Some("/house"), Palette::Plain));
}
