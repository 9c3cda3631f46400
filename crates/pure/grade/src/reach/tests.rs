use crosstie_facts::{CaptureEntry, RawCapture};
use crosstie_model::{
    Mtu,
    plan::{ConfigReload, Configure, FORMAT, InterfaceChange, Renderer, ValueChange},
};
use proptest::prelude::*;

use super::*;

/// Node, and for each of its ports the subnet.
type Sketch<'a> = &'a [(&'a str, &'a [u8])];

fn interface(port: usize) -> String {
    format!("rail{port}")
}

fn mac(node: usize, port: usize) -> String {
    format!("02:00:00:00:{node:02x}:{port:02x}")
}

fn plan(nodes: Sketch) -> ClusterPlan {
    let addresses = |node: usize, subnets: &[u8]| {
        let ports = subnets.iter().enumerate();
        let address = |(port, subnet): (usize, &u8)| FabricAddress {
            cage: "p0".to_owned(),
            interface: interface(port),
            device: format!("mlx5_{port}"),
            rail: u32::from(*subnet) % 2,
            address: format!("10.77.{subnet}.{}/24", node + 1).parse().unwrap(),
            peers: Vec::new(),
        };
        ports.map(address).collect()
    };
    let nodes = nodes.iter().enumerate();
    let node = |(index, (name, subnets)): (usize, &(&str, &[u8]))| NodePlan {
        node: (*name).to_owned(),
        basis: String::new(),
        refusals: Vec::new(),
        steps: Vec::new(),
        notes: Vec::new(),
        addresses: addresses(index, subnets),
        settings: Vec::new(),
    };
    ClusterPlan {
        format: FORMAT,
        cluster: "test".to_owned(),
        nodes: nodes.map(node).collect(),
        missing: Vec::new(),
        switches: Vec::new(),
    }
}

fn facts(nodes: Sketch) -> Vec<Facts> {
    let nodes = nodes.iter().enumerate();
    let node = |(index, (name, subnets)): (usize, &(&str, &[u8]))| {
        let mut raw = RawCapture::default();
        for port in 0..subnets.len() {
            let mut file = |attribute: &str, text: String| {
                let path = format!("sys/class/net/{}/{attribute}", interface(port));
                raw.insert(&path, CaptureEntry::File(text.into_bytes()));
            };
            file("address", mac(index, port));
            file("mtu", "9000".to_owned());
        }
        let mut facts = crosstie_facts::facts(&raw);
        facts.host.name = (*name).to_owned();
        facts
    };
    nodes.map(node).collect()
}

/// Everybody answers as they should.
fn answers(pairs: &[AddressPair], facts: &[Facts]) -> ProbeResultsByNode {
    let there = |to: &AddressEnd| {
        let facts = facts.iter().find(|facts| facts.host.name == to.node)?;
        facts.network.interface(&to.interface)?.mac.known().cloned()
    };
    let mut answers = ProbeResultsByNode::new();
    for pair in pairs {
        let own = answers.entry(pair.from.node.clone());
        let own = own.or_insert_with(|| Ok(Vec::new())).as_mut().unwrap();
        own.push(ProbeResult {
            probe: pair.probe(),
            problem: None,
            neighbour: there(&pair.to),
        });
    }
    answers
}

const TWO: Sketch = &[("a", &[0, 1]), ("b", &[0, 1])];
const RING: Sketch = &[
    ("a", &[0, 1, 4, 5]),
    ("b", &[0, 1, 2, 3]),
    ("c", &[2, 3, 4, 5]),
];
const SWITCH: Sketch = &[
    ("a", &[254, 255]),
    ("b", &[254, 255]),
    ("c", &[254, 255]),
    ("d", &[254]),
];

#[test]
fn every_cable_and_plane_is_proven_both_ways_on_each_rail() {
    // Two twins, both ways; three such cables; four and three nodes, each with each other.
    for (nodes, expected) in [(TWO, 2 * 2), (RING, 3 * 2 * 2), (SWITCH, 4 * 3 + 3 * 2)] {
        assert_eq!(pairs(&plan(nodes), &facts(nodes)).len(), expected);
    }
    let pairs = pairs(&plan(TWO), &facts(TWO));
    let shown = |pair: &AddressPair| {
        let (from, to) = (&pair.from, &pair.to);
        assert_eq!(pair.bytes, Some(9000));
        format!(
            "{} {} → {} {}",
            from.node, from.interface, to.address, to.node
        )
    };
    assert_eq!(
        pairs.iter().map(shown).collect::<Vec<_>>(),
        [
            "a rail0 → 10.77.0.2 b",
            "a rail1 → 10.77.1.2 b",
            "b rail0 → 10.77.0.1 a",
            "b rail1 → 10.77.1.1 a",
        ]
    );
    assert_eq!(
        probes(&pairs, "b")[1],
        ReachabilityProbe::Ping {
            address: "10.77.1.1".parse().unwrap(),
            interface: Some("rail1".to_owned()),
            bytes: Some(9000)
        }
    );
    assert_eq!(probes(&pairs, "stranger"), []);
}

#[test]
fn the_size_is_what_is_planned() {
    let mut plan = plan(TWO);
    let change = InterfaceChange {
        name: "rail1".to_owned(),
        by: Renderer::Networkd,
        addresses: ValueChange {
            from: Vec::new(),
            to: Vec::new(),
        },
        mtu: ValueChange {
            from: Some(Mtu(9000)),
            to: Some(Mtu(4200)),
        },
    };
    plan.nodes[0].steps = vec![PlanStep::Configure(Configure {
        files: Vec::new(),
        then: vec![ConfigReload::Units, ConfigReload::Interface(change)],
    })];
    let bytes = |facts: &[Facts]| {
        let pairs = pairs(&plan, facts);
        pairs.iter().map(|pair| pair.bytes).collect::<Vec<_>>()
    };
    assert_eq!(bytes(&facts(TWO))[..2], [Some(9000), Some(4200)]);
    assert_eq!(bytes(&[]), [None, Some(4200), None, None]);
}

#[test]
fn an_answer_counts_only_from_the_port_that_has_the_address() {
    let facts = facts(TWO);
    let pairs = pairs(&plan(TWO), &facts);
    let mut answers = answers(&pairs, &facts);
    let of_a = answers.get_mut("a").unwrap().as_mut().unwrap();
    of_a[0].neighbour = Some(mac(1, 1).parse().unwrap());
    of_a[1].neighbour = None;
    let of_b = answers.get_mut("b").unwrap().as_mut().unwrap();
    of_b[0].neighbour = Some("02:ff:ff:ff:ff:ff".parse().unwrap());
    of_b[1].problem = Some("no answer".to_owned());
    of_b[1].neighbour = Some(mac(0, 0).parse().unwrap());
    let proof = judge_pairs(pairs.clone(), &facts, &answers);
    let outcomes: Vec<&ReachabilityOutcome> =
        proof.pairs.iter().map(|judged| &judged.outcome).collect();
    let other =
        |expected: String, found: &str, interface: Option<&str>| ReachabilityOutcome::OtherPort {
            expected: expected.parse().unwrap(),
            found: found.parse().unwrap(),
            interface: interface.map(str::to_owned),
        };
    assert_eq!(
        outcomes,
        [
            &other(mac(1, 0), &mac(1, 1), Some("rail1")),
            &ReachabilityOutcome::Answered { mac_checked: false },
            &other(mac(0, 0), "02:ff:ff:ff:ff:ff", None),
            &ReachabilityOutcome::NoAnswer {
                why: "no answer; it was sought at 02:00:00:00:00:00, and its port is 02:00:00:00:00:01"
                    .to_owned()
            },
        ]
    );
    assert!(!proof.holds());
    let json = serde_json::to_value(&proof).unwrap();
    assert_eq!(json["pairs"][0]["outcome"], "other-port");
    assert_eq!(json["pairs"][0]["from"]["host"], "a");
    assert_eq!(
        serde_json::from_value::<ReachabilityProof>(json).unwrap(),
        proof
    );
}

#[test]
fn who_was_not_asked_proves_nothing() {
    let facts = facts(TWO);
    let pairs = pairs(&plan(TWO), &facts);
    let mut answers = answers(&pairs, &facts);
    answers.insert("a".to_owned(), Err("the session ended".to_owned()));
    // An answer to another question is none.
    let of_b = answers.get_mut("b").unwrap().as_mut().unwrap();
    for answer in of_b {
        if let ReachabilityProbe::Ping { bytes, .. } = &mut answer.probe {
            *bytes = None;
        }
    }
    let proof = judge_pairs(pairs, &facts, &answers);
    let why = |judged: &JudgedPair| match &judged.outcome {
        ReachabilityOutcome::NoAnswer { why } => why.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        why(&proof.pairs[0]),
        "a could not be asked: the session ended"
    );
    assert_eq!(why(&proof.pairs[2]), "b was not asked");
}

proptest! {
    #[test]
    fn a_fabric_is_proven_by_all_of_it_and_by_nothing_less(
        nodes in prop::collection::vec(prop::collection::btree_set(0_u8..6, 0..5), 1..6),
        lost in any::<prop::sample::Index>(),
    ) {
        let names: Vec<String> = (0..nodes.len()).map(|index| format!("node-{index}")).collect();
        let subnets: Vec<Vec<u8>> = nodes.iter().map(|own| own.iter().copied().collect()).collect();
        let sketch: Vec<(&str, &[u8])> =
            names.iter().map(String::as_str).zip(subnets.iter().map(Vec::as_slice)).collect();
        let facts = facts(&sketch);
        let pairs = pairs(&plan(&sketch), &facts);
        let members = |subnet: u8| nodes.iter().filter(|own| own.contains(&subnet)).count();
        let expected: usize = (0..6).map(members).map(|count| count * count.saturating_sub(1)).sum();
        prop_assert_eq!(pairs.len(), expected);
        for pair in &pairs {
            prop_assert_ne!(&pair.from.node, &pair.to.node);
            let back = pairs.iter().filter(|back| back.from == pair.to && back.to == pair.from);
            prop_assert_eq!(back.count(), 1);
        }
        let answers = answers(&pairs, &facts);
        let proof = judge_pairs(pairs.clone(), &facts, &answers);
        prop_assert!(proof.holds());
        let checked = ReachabilityOutcome::Answered { mac_checked: true };
        prop_assert!(proof.pairs.iter().all(|judged| judged.outcome == checked));
        if !pairs.is_empty() {
            let lost = &pairs[lost.index(pairs.len())];
            let mut fewer = answers.clone();
            let own = fewer.get_mut(&lost.from.node).unwrap().as_mut().unwrap();
            own.retain(|answer| answer.probe != lost.probe());
            let proof = judge_pairs(pairs.clone(), &facts, &fewer);
            let bad = proof.pairs.iter().filter(|judged| !judged.outcome.is_good());
            prop_assert_eq!(bad.map(|judged| &judged.pair).collect::<Vec<_>>(), [lost]);
        }
    }
}

#[test]
fn a_path_that_is_too_narrow_is_told_from_a_dead_one() {
    let (plan, facts) = (plan(TWO), facts(TWO));
    let pairs = pairs(&plan, &facts);
    let silence = |probe: ReachabilityProbe| ProbeResult {
        probe,
        problem: Some("no answer".to_owned()),
        neighbour: None,
    };
    let mut told = answers(&pairs, &facts);
    let own = told.get_mut("a").unwrap().as_mut().unwrap();
    *own = own.drain(..).map(|answer| silence(answer.probe)).collect();
    let proof = judge_pairs(pairs, &facts, &told);
    assert_eq!(smaller_probes(&proof, "b"), []);
    let asked = smaller_probes(&proof, "a");
    assert_eq!(asked.len(), 2 * SMALLER.len());
    // One of the two rails answers up to Ethernet's usual size, the other one nothing.
    let narrow = |probe: ReachabilityProbe| {
        let is_answered = matches!(
            &probe,
            ReachabilityProbe::Ping { interface: Some(port), bytes: Some(..=1500), .. } if *port == interface(0)
        );
        let mut answer = silence(probe);
        answer.problem = answer.problem.filter(|_| !is_answered);
        answer
    };
    let told =
        ProbeResultsByNode::from([("a".to_owned(), Ok(asked.into_iter().map(narrow).collect()))]);
    let proof = with_smaller(proof, &told, |_| Some("cable 1".to_owned()));
    let outcomes: Vec<&ReachabilityOutcome> =
        proof.pairs.iter().map(|judged| &judged.outcome).collect();
    let too_large = ReachabilityOutcome::TooLarge {
        answered_bytes: 1500,
        cable: Some("cable 1".to_owned()),
    };
    assert_eq!(*outcomes[0], too_large);
    assert!(matches!(outcomes[1], ReachabilityOutcome::NoAnswer { .. }));
    assert!(outcomes[2].is_good() && outcomes[3].is_good());
}
