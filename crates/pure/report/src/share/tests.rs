//! Canaries: what goes in by name does not come out.

use crosstie_model::{
    Cable,
    run::{
        LostNode, MeasurementFigures, MeasurementOutcome, ReachabilityFigure, RunEnd, RunEndReason,
        StoredRun, TestKind,
    },
};

use super::*;
use crate::{
    compare::comparison,
    html::{compare_page, run_page},
    made_up,
    run_report::report_of,
};

const HOSTS: [&str; 2] = [
    "canaryuser@canary-alpha.corp.canarydomain.net",
    "canary-beta",
];
const MACS: [&str; 2] = ["b8:ce:f6:0c:a7:01", "b8:ce:f6:0c:a7:02"];

/// Everything that must not be found again.
const CANARIES: [&str; 19] = [
    "canaryuser",
    "canary-alpha",
    "canarydomain",
    "canary-beta",
    "canarycluster",
    "192.168.176.11",
    "192.168.177.12",
    "10.99.88.77",
    "fd00:ca:fe::99",
    "b8:ce:f6:0c:a7:02",
    "b8:ce:f6:0c:a7:01",
    "b8cef60ca702",
    "b8ce:f603:000c:a701",
    "fe80:0000:0000:0000:bace:f6ff:fe0c:a702",
    "b8cef603000ca701",
    "MT2023X98765",
    "8f1c2b3a-1111-2222-3333-c0ffeec0ffee",
    "SN1234567",
    "CANARY-BETA",
];

fn run() -> StoredRun {
    let mut run = made_up::two_sparks(true);
    let rename = |host: &str| HOSTS[usize::from(host == "spark-b")].to_owned();
    run.header.cluster = Some("canarycluster".to_owned());
    for node in &mut run.header.nodes {
        node.host = rename(&node.host);
        node.ports[0].interface = Some("enxb8cef60ca702".to_owned());
    }
    for cable in &mut run.header.cabling {
        if let Cable::Direct { a, b, .. } = cable {
            a.node = rename(&a.node);
            b.node = rename(&b.node);
        }
    }
    let cables: Vec<String> = run.header.cabling.iter().map(ToString::to_string).collect();
    let ends = run
        .measurements
        .iter_mut()
        .flat_map(|one| [&mut one.from, &mut one.to]);
    for end in ends.chain(run.header.groups.iter_mut().flatten()) {
        end.host = rename(&end.host);
        end.cable = Some(cables[usize::try_from(end.rail / 2).unwrap()].clone());
    }
    let told = "canary-alpha: connect to 10.99.88.77:22, fd00:ca:fe::99 and CANARY-BETA failed; port b8:ce:f6:0c:a7:01, GUID \
        b8ce:f603:000c:a701 (0xb8cef603000ca701), GID fe80:0000:0000:0000:bace:f6ff:fe0c:a702, card MT2023X98765, \
        GPU-8f1c2b3a-1111-2222-3333-c0ffeec0ffee, serial number: SN1234567, on canarycluster of canaryuser.";
    for one in &mut run.measurements {
        match one.kind {
            TestKind::TcpLatency => {
                one.outcome = MeasurementOutcome::Failed {
                    error: told.to_owned(),
                }
            }
            TestKind::Reachability => {
                one.outcome = MeasurementOutcome::Measured(MeasurementFigures::Reach(
                    ReachabilityFigure::OtherPort {
                        expected: MACS[0].parse().unwrap(),
                        found: MACS[1].parse().unwrap(),
                        interface: Some("enxb8cef60ca702".to_owned()),
                    },
                ));
            }
            _ => one.doubts.push(told.to_owned()),
        }
    }
    run.lost.push(LostNode {
        host: HOSTS[1].to_owned(),
        why: told.to_owned(),
        offset_milliseconds: 5,
    });
    run.end = Some(RunEnd {
        reason: RunEndReason::Failed {
            error: told.to_owned(),
        },
        offset_milliseconds: 10,
    });
    run
}

#[test]
fn no_canary_is_left_in_anything_that_is_made_of_a_shared_run() {
    let run = run();
    let (shared, replaced) = anonymise(&run);
    let report = report_of(&shared, Some(replaced));
    let (both, replaced) = anonymise_together(&[run.clone(), made_up::two_sparks(false)]);
    let reports = [report_of(&both[0], None), report_of(&both[1], None)];
    let compared = comparison(
        [&both[0], &both[1]],
        [&reports[0], &reports[1]],
        Some(replaced),
    );
    let made = [
        made_up::file(&shared),
        serde_json::to_string(&report).unwrap(),
        run_page(&report),
        serde_json::to_string(&compared).unwrap(),
        compare_page(&compared),
    ];
    let honest = made_up::file(&run);
    for canary in CANARIES {
        assert!(honest.contains(canary), "{canary} was not in it");
        for made in &made {
            let made = made.to_ascii_lowercase();
            assert!(
                !made.contains(&canary.to_ascii_lowercase()),
                "{canary} is left"
            );
        }
    }
}

#[test]
fn what_was_replaced_is_said() {
    let (_, replaced) = anonymise(&run());
    let said: Vec<String> = replaced.iter().map(ToString::to_string).collect();
    assert_eq!(
        said,
        [
            "2 host names",
            "1 user name",
            "1 cluster name",
            "10 IP addresses",
            "2 hardware addresses",
            "3 GUIDs",
            "3 serial numbers"
        ]
    );
}

#[test]
fn a_shared_run_tells_the_same_story() {
    for run in [made_up::two_sparks(true), made_up::switched(6)] {
        let (shared, _) = anonymise(&run);
        let (honest, told) = (report_of(&run, None), report_of(&shared, None));
        let verdicts = |report: &crate::run_report::RunReport| {
            let pairs = report
                .pairs
                .iter()
                .map(|pair| (pair.gbps, pair.percent, pair.verdict));
            pairs.collect::<Vec<_>>()
        };
        assert_eq!(verdicts(&honest), verdicts(&told));
        assert_eq!(honest.summary.sentence, told.summary.sentence);
        assert_eq!(honest.findings.len(), told.findings.len());
        let grades = |report: &crate::run_report::RunReport| {
            report
                .cables
                .iter()
                .map(|cable| cable.grade)
                .collect::<Vec<_>>()
        };
        assert_eq!(grades(&honest), grades(&told));
    }
}

#[test]
fn words_versions_and_the_kernels_own_names_stay() {
    let (shared, _) = anonymise(&run());
    let node = &shared.header.nodes[0];
    assert_eq!(node.kernel.as_deref(), Some("6.17.0-1014-nvidia"));
    assert_eq!(node.rdma_core.as_deref(), Some("50.0-2ubuntu0.2"));
    assert_eq!(node.ports[1].interface.as_deref(), Some("enP2p1s0f0np0"));
    assert_eq!(shared.header.started, "2026-11-14T09:26:00Z");
    let lost = &shared.lost[0].why;
    assert!(
        lost.contains("connect to 192.0.2.") && lost.contains(":22"),
        "{lost}"
    );
}

#[test]
fn short_names_are_replaced_where_they_stand_alone() {
    let mut run = made_up::two_sparks(false);
    run.header.nodes[0].host = "a".to_owned();
    let mut names = NameReplacements::of(&run);
    let mut text = "a: an answer of a came late".to_owned();
    names.in_text(&mut text);
    assert_eq!(text, "node-1: an answer of node-1 came late");
}
