//! Findings are a forest: every fault of the catalogue is a root or explained by one, and unrelated faults stay apart.

use std::{collections::BTreeSet, net::IpAddr, sync::LazyLock};

use crosstie_doctor::{
    CauseScope, Diagnosis, DoctorInput, NodeInput, UnreadNode, checks, diagnose,
};
use crosstie_facts::{RawCapture, facts};
use crosstie_model::{Cable, ClusterSpec, Facts, Finding, FindingRef, Reading, Severity};
use crosstie_report::{
    causes::{HostFindingRef, located, roots},
    doctor::{FindingDetail, markdown, verdict, view},
    text::Palette,
};
use ipnet::IpNet;
use proptest::prelude::*;

use crate::common::{
    cases::{Case, CaseNode, load},
    samples,
};

/// Each with itself a moment before.
type Nodes = Vec<(Facts, Option<Facts>)>;

/// A case, read once.
struct Read {
    fault: String,
    name: String,
    spec: Option<ClusterSpec>,
    unread: Vec<String>,
    nodes: Nodes,
}

static CASES: LazyLock<Vec<Read>> = LazyLock::new(|| {
    let read = |fault: &str, case: &Case| Read {
        fault: fault.to_owned(),
        name: case.name.clone(),
        spec: case.spec(),
        unread: case.unread.clone(),
        nodes: case
            .node
            .iter()
            .map(|node| (facts(&node.raw()), node.earlier().map(|raw| facts(&raw))))
            .collect(),
    };
    let all = load("faults").into_iter();
    all.flat_map(|(fault, cases)| {
        let cases = cases.iter().map(|case| read(&fault, case));
        cases.collect::<Vec<_>>()
    })
    .collect()
});

fn examined(
    nodes: &[(Facts, Option<Facts>)],
    unread: &[String],
    spec: Option<&ClusterSpec>,
) -> Diagnosis {
    let patients: Vec<NodeInput> = nodes
        .iter()
        .map(|(facts, earlier)| NodeInput {
            facts,
            earlier: earlier.as_ref(),
            clock: None,
        })
        .collect();
    let unread: Vec<UnreadNode> = unread
        .iter()
        .map(|host| UnreadNode {
            host: host.clone(),
            error: "no answer".to_owned(),
        })
        .collect();
    diagnose(&DoctorInput {
        patients: &patients,
        unread: &unread,
        spec,
        ..DoctorInput::default()
    })
}

fn reference((host, finding): HostFindingRef) -> FindingRef {
    FindingRef {
        host: host.map(str::to_owned),
        id: finding.id.clone(),
        subject: finding.subject.clone(),
    }
}

/// Follows causes to the end; panics where one is not there, or where they go in a circle.
fn root_of<'a>(found: &[HostFindingRef<'a>], mut at: HostFindingRef<'a>) -> HostFindingRef<'a> {
    for _ in 0..=found.len() {
        let Some(cause) = &at.1.caused_by else {
            return at;
        };
        let there = found.iter().find(|other| reference(**other) == *cause);
        at = *there
            .unwrap_or_else(|| panic!("{:?} is caused by {cause:?}, which is not there", at.1));
    }
    panic!("causes go in a circle: {:?}", at.1);
}

fn assert_forest(diagnosis: &Diagnosis) {
    let found = located(diagnosis);
    for one in &found {
        root_of(&found, *one);
        if let Some(cause) = &one.1.caused_by {
            let cause = found.iter().find(|other| reference(**other) == *cause);
            let severity = cause.unwrap().1.severity;
            assert_ne!(
                severity,
                Severity::Info,
                "no alarm explains nothing: {cause:?}"
            );
        }
    }
    // What a screen is made of has each finding once.
    let shown: usize = roots(&found)
        .iter()
        .map(|root| root.hosts.len().max(1) + root.explains.len())
        .sum();
    assert_eq!(shown, found.len(), "{found:#?}");
}

#[test]
fn the_fault_of_every_case_is_a_root_or_is_explained_by_one() {
    for case in CASES.iter() {
        let diagnosis = examined(&case.nodes, &case.unread, case.spec.as_ref());
        assert_forest(&diagnosis);
        let found = located(&diagnosis);
        for own in found.iter().filter(|(_, found)| found.id == case.fault) {
            let (_, root) = root_of(&found, *own);
            let alarm = root.severity != Severity::Info || own.1.severity == Severity::Info;
            assert!(alarm, "{}: {}", case.fault, case.name);
        }
    }
}

/// The same node under another name, in subnets of its own, with nothing that would make a clone of it: no cable between it
/// and the one it is taken from can be inferred.
fn moved(facts: &Facts, name: String, networks: u8) -> Facts {
    let mut facts = facts.clone();
    facts.host.name = name;
    facts.host.machine_id = Reading::Absent;
    for device in &mut facts.rdma {
        device.node_guid = Reading::Absent;
    }
    let interfaces = facts.network.interfaces.iter_mut();
    for address in interfaces.flat_map(|interface| &mut interface.addresses) {
        let length = address.net.prefix_len();
        let other: IpAddr = match address.net.addr() {
            IpAddr::V4(old) if !old.is_link_local() => {
                let [a, b, c, d] = old.octets();
                [a.wrapping_add(networks), b, c, d].into()
            }
            IpAddr::V6(old) if !old.is_unicast_link_local() => {
                let mut parts = old.segments();
                parts[1] ^= u16::from(networks);
                parts.into()
            }
            old => old,
        };
        address.net = IpNet::new(other, length).unwrap();
    }
    facts
}

/// Where the second of two cases is, seen from the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Elsewhere {
    /// In subnets of its own.
    Apart,
    /// In the same subnets, with the same addresses: whatever can be taken for a cable is.
    Beside,
}

/// The case with other names for its nodes.
fn elsewhere(case: &Read, place: Elsewhere) -> (Nodes, Vec<String>, Option<ClusterSpec>) {
    let other = |name: &str| format!("other-{name}");
    let networks = u8::from(place == Elsewhere::Apart);
    let renamed = |facts: &Facts| moved(facts, other(&facts.host.name), networks);
    let nodes = case.nodes.iter();
    let nodes = nodes.map(|(now, before)| (renamed(now), before.as_ref().map(renamed)));
    let unread = case.unread.iter().map(|host| other(host)).collect();
    let spec = case.spec.as_ref().map(|spec| {
        let text = toml::to_string(spec).unwrap();
        let ends = spec.cables.iter().flat_map(Cable::ends);
        let ends = ends.map(|end| end.node.as_str());
        let names = spec.nodes.iter().map(|node| node.name.as_str()).chain(ends);
        let names: BTreeSet<&str> = names.collect();
        let text = names.into_iter().fold(text, |text, name| {
            text.replace(&format!("\"{name}\""), &format!("\"{}\"", other(name)))
                .replace(&format!("\"{name}:"), &format!("\"{}:", other(name)))
        });
        ClusterSpec::from_toml(&text).unwrap()
    });
    (nodes.collect(), unread, spec)
}

struct Contradiction;

/// One cluster file for both, where they do not contradict each other.
fn joined(
    a: Option<&ClusterSpec>,
    b: Option<&ClusterSpec>,
) -> Result<Option<ClusterSpec>, Contradiction> {
    match (a, b) {
        (None, None) => Ok(None),
        (Some(one), None) | (None, Some(one)) => Ok(Some(one.clone())),
        (Some(a), Some(b)) if a.fabric == b.fabric && a.qos == b.qos => {
            let mut both = a.clone();
            both.nodes.extend(b.nodes.clone());
            both.cables.extend(b.cables.clone());
            Ok(Some(both))
        }
        _ => Err(Contradiction),
    }
}

fn references(found: &[HostFindingRef], of: impl Fn(&Finding) -> bool) -> Vec<FindingRef> {
    let found = found.iter().filter(|(_, finding)| of(finding));
    found.map(|found| reference(*found)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Two faults of the catalogue on different nodes, examined together.
    #[test]
    fn faults_that_have_nothing_to_do_with_each_other_stay_apart(
        first in any::<prop::sample::Index>(),
        second in any::<prop::sample::Index>(),
        place in prop::sample::select(vec![Elsewhere::Apart, Elsewhere::Beside]),
    ) {
        let (a, b) = (first.get(&CASES), second.get(&CASES));
        let (nodes, unread, spec) = elsewhere(b, place);
        let Ok(both_spec) = joined(a.spec.as_ref(), spec.as_ref()) else {
            return Ok(());
        };
        let alone = [
            examined(&a.nodes, &a.unread, a.spec.as_ref()),
            examined(&nodes, &unread, spec.as_ref()),
        ];
        let mut both_nodes: Nodes = a.nodes.iter().chain(&nodes).cloned().collect();
        if place == Elsewhere::Apart {
            // Two nodes by themselves are taken for neighbours.
            let bystander = facts(&samples::raw("workstation-cx5-healthy"));
            both_nodes.push((moved(&bystander, "bystander".to_owned(), 2), None));
        }
        let both_unread: Vec<_> = a.unread.iter().chain(&unread).cloned().collect();
        let both = examined(&both_nodes, &both_unread, both_spec.as_ref());
        assert_forest(&both);
        let found = located(&both);
        let is_of = |hosts: &BTreeSet<&str>, host: Option<&str>| host.is_some_and(|host| hosts.contains(host));
        for (own, other) in [(&alone[0], &alone[1]), (&alone[1], &alone[0])] {
            let hosts: BTreeSet<&str> = own.nodes.iter().map(|node| node.host.as_str()).collect();
            let others = references(&located(other), |_| true);
            for (host, finding) in located(own) {
                let now = found.iter().find(|found| reference(**found) == reference((host, finding)));
                // What one node shows, it shows in any company.
                prop_assert!(now.is_some() || !is_of(&hosts, host), "lost: {:?}", finding);
                let Some((_, now)) = now.filter(|_| finding.caused_by.is_none()) else {
                    continue;
                };
                let blamed = now.caused_by.as_ref().is_some_and(|cause| others.contains(cause));
                prop_assert!(!blamed, "{} and {}: {:?}", a.name, b.name, now);
            }
        }
    }
}

/// Every case of a fault that one reading shows, with what it is made of. Cases in which all is well may mend what another has made.
static MADE: LazyLock<Vec<(String, Case)>> = LazyLock::new(|| {
    let all = load("faults").into_iter();
    all.flat_map(|(fault, cases)| {
        let is_read_once = |case: &Case| case.node.iter().all(CaseNode::is_read_once);
        let is_fault = move |case: &Case| !case.expect.is_empty() && is_read_once(case);
        let cases = cases.into_iter().filter(is_fault);
        let cases = cases.map(move |case| (fault.clone(), case));
        cases.collect::<Vec<_>>()
    })
    .collect()
});

/// What is of a whole node, and why.
const NODE_WIDE: [(&str, &str); 9] = [
    ("peermem-load-failed", "ofed-not-running"),
    ("gpudirect-off", "peermem-load-failed"),
    ("no-fabric-link", "cable-dead"),
    ("no-fabric-link", "fabric-port-down"),
    ("no-fabric-link", "ib-no-subnet-manager"),
    ("nccl-hca-down", "no-fabric-link"),
    ("nccl-hca-unknown", "nic-absent"),
    ("nccl-hca-unknown", "rdma-driver-missing"),
    ("wrong-neighbour", "node-cloned"),
];

/// Both faults on the same nodes and cables, and each alone under the same cluster file; nothing where they contradict each
/// other.
fn together(a: &Case, b: &Case) -> Option<[Diagnosis; 3]> {
    let (of_a, of_b) = (a.spec(), b.spec());
    let is_clear = of_a.is_none() || of_b.is_none() || of_a == of_b;
    if !is_clear || a.node.len() != b.node.len() || a.unread != b.unread {
        return None;
    }
    let both: Option<Vec<_>> = a
        .node
        .iter()
        .zip(&b.node)
        .map(|(a, b)| a.raw_with(b))
        .collect();
    let spec = of_a.or(of_b);
    let diagnosed = |raws: Vec<RawCapture>| {
        let nodes: Nodes = raws.iter().map(|raw| (facts(raw), None)).collect();
        examined(&nodes, &a.unread, spec.as_ref())
    };
    let alone = |case: &Case| diagnosed(case.node.iter().map(CaseNode::raw).collect());
    Some([diagnosed(both?), alone(a), alone(b)])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// Two faults of the catalogue on the same nodes. One may hide the other, and explains it only if both are at one port, cage
    /// or cable, or where it is listed that a whole node is meant: whatever else is wrong with a node is another matter.
    #[test]
    fn two_faults_on_one_node_are_two_matters(
        first in any::<prop::sample::Index>(),
        second in any::<prop::sample::Index>(),
    ) {
        let ((_, a), (_, b)) = (first.get(&MADE), second.get(&MADE));
        let Some([both, alone, other]) = together(a, b) else {
            return Ok(());
        };
        assert_forest(&both);
        let found = located(&both);
        let own = references(&located(&alone), |_| true);
        let others = references(&located(&other), |_| true);
        for (host, finding) in located(&alone) {
            let now = found.iter().find(|found| reference(**found) == reference((host, finding)));
            if now.is_none() && finding.severity == Severity::Fault {
                let hides = found.iter().any(|found| others.contains(&reference(*found)));
                prop_assert!(hides, "{} + {}: nothing is left of {}", a.name, b.name, finding.id);
            }
            let Some((_, now)) = now.filter(|_| finding.caused_by.is_none()) else {
                continue;
            };
            let blamed = now.caused_by.as_ref();
            let blamed = blamed.filter(|cause| others.contains(cause) && !own.contains(cause));
            if let Some(cause) = blamed {
                let rules = checks::find(&now.id).unwrap().explained_by.iter();
                let mut rules = rules.filter(|rule| rule.id == cause.id);
                let is_near = rules.any(|rule| !matches!(rule.over, CauseScope::Node | CauseScope::EveryNode | CauseScope::Peer));
                let is_near = is_near || NODE_WIDE.contains(&(now.id.as_str(), cause.id.as_str()));
                prop_assert!(is_near, "{} + {}: {:?}", a.name, b.name, now);
            }
        }
    }
}

/// A fleet of Sparks on a switch, each as healthy as the sample.
fn fleet(count: usize) -> Vec<(Facts, Option<Facts>)> {
    let healthy = facts(&samples::raw("spark-healthy"));
    let spark = |number: usize| {
        let mut facts = healthy.clone();
        facts.host.name = format!("spark-{number:02}");
        facts.host.machine_id = Reading::Absent;
        for device in &mut facts.rdma {
            device.node_guid = Reading::Absent;
        }
        for interface in &mut facts.network.interfaces {
            for address in &mut interface.addresses {
                let text = address.net.to_string();
                let own = text.replace(".11/", &format!(".{}/", number + 11));
                address.net = own.parse().unwrap();
            }
        }
        for port in facts.rdma.iter_mut().flat_map(|device| &mut device.ports) {
            port.gids.clear();
        }
        // What others learned of the sample's addresses is not true here.
        facts.network.neighbours = Reading::Absent;
        (facts, None)
    };
    (0..count).map(spark).collect()
}

fn screen(diagnosis: &Diagnosis) -> String {
    view(diagnosis, FindingDetail::Roots, Palette::Plain)
}

#[test]
fn a_healthy_fleet_fits_in_ten_lines_and_one_fault_in_the_first_screen() {
    let mut nodes = fleet(20);
    let healthy = screen(&examined(&nodes, &[], None));
    assert!(healthy.lines().count() <= 10, "{healthy}");
    assert!(healthy.contains("20 nodes: nothing wrong"), "{healthy}");

    let sick = &mut nodes[13].0;
    let twin = sick.network.interfaces.iter_mut();
    for interface in twin.filter(|interface| interface.name == "enP2p1s0f1np1") {
        interface.addresses[0].net = "192.168.177.99/24".parse().unwrap();
    }
    let diagnosis = examined(&nodes, &[], None);
    let text = screen(&diagnosis);
    let first: Vec<&str> = text.lines().take(24).collect();
    let first = first.join("\n");
    for part in ["spark-13", "twins-same-subnet", "cause", "fix"] {
        assert!(first.contains(part), "no {part} in\n{text}");
    }
    assert!(text.contains("19 nodes: nothing wrong"), "{text}");
    insta::assert_snapshot!(text);
    let all = view(&diagnosis, FindingDetail::All, Palette::Plain);
    assert!(all.lines().count() > text.lines().count(), "{all}");
}

#[test]
fn a_pulled_cable_is_one_thing_to_mend() {
    let case = CASES
        .iter()
        .find(|case| case.fault == "cable-dead")
        .unwrap();
    let diagnosis = examined(&case.nodes, &case.unread, case.spec.as_ref());
    let text = screen(&diagnosis);
    assert!(text.lines().count() < 24, "{text}");
    insta::assert_snapshot!("pulled", text);
    insta::assert_snapshot!("pulled_markdown", markdown(&diagnosis, "0"));
    let all = view(&diagnosis, FindingDetail::All, Palette::Plain);
    let headings = all.matches("nccl-hca-down  ").count();
    assert_eq!(headings, 4, "{all}");
}

#[test]
fn who_did_not_answer_was_not_examined() {
    let mut diagnosis = Diagnosis::default();
    for host in ["spark-a", "spark-b"] {
        diagnosis.nodes.push(crosstie_doctor::NodeFindings {
            host: host.to_owned(),
            error: Some("no answer".to_owned()),
            findings: Vec::new(),
            notes: Vec::new(),
        });
    }
    assert_eq!(verdict(&diagnosis).text(), "0 of 2 nodes examined");
}
