use crosstie_grade::reach::{AddressEnd, AddressPair};

use super::*;

fn pair(from: (&str, u8), to: (&str, u8), subnet: u8) -> AddressPair {
    let end = |(node, host): (&str, u8)| AddressEnd {
        node: node.to_owned(),
        interface: ["enp1s0f0np0", "enP2p1s0f0np0"][usize::from(subnet % 2)].to_owned(),
        address: [10, 77, subnet, host].into(),
    };
    AddressPair {
        from: end(from),
        to: end(to),
        rail: u32::from(subnet % 2),
        bytes: Some(9000),
    }
}

/// Each node with each other, both ways, on both rails.
fn proven(nodes: &[&str]) -> ReachabilityProof {
    let nodes: Vec<(&str, u8)> = nodes.iter().copied().zip(1..).collect();
    let mut pairs = Vec::new();
    for from in &nodes {
        for subnet in 0..2 {
            for to in nodes.iter().filter(|to| *to != from) {
                pairs.push(JudgedPair {
                    pair: pair(*from, *to, subnet),
                    outcome: ReachabilityOutcome::Answered { mac_checked: true },
                });
            }
        }
    }
    ReachabilityProof { pairs }
}

fn silent(why: &str) -> ReachabilityOutcome {
    ReachabilityOutcome::NoAnswer {
        why: why.to_owned(),
    }
}

#[test]
fn a_pair_that_is_proven() {
    insta::assert_snapshot!(view(&proven(&["spark-a", "spark-b"]), Palette::Plain));
}

#[test]
fn a_pair_with_everything_wrong() {
    let mut proof = proven(&["spark-a", "spark-b"]);
    proof.pairs[0].outcome = silent("9000 bytes do not fit: the MTU of enp1s0f0np0 is 1500");
    proof.pairs[1].outcome = ReachabilityOutcome::OtherPort {
        expected: "4c:bb:47:00:00:02".parse().unwrap(),
        found: "4c:bb:47:00:00:01".parse().unwrap(),
        interface: Some("enp1s0f0np0".to_owned()),
    };
    proof.pairs[3].outcome = silent("spark-b could not be asked: \u{1b}[2Jthe session ended");
    insta::assert_snapshot!(view(&proof, Palette::Plain));
}

#[test]
fn a_switch_of_three_with_a_gap() {
    let mut proof = proven(&["a", "b", "c"]);
    proof.pairs[0].outcome = ReachabilityOutcome::Answered { mac_checked: false };
    proof.pairs[1].pair.bytes = Some(1500);
    insta::assert_snapshot!(view(&proof, Palette::Plain));
}

#[test]
fn of_many_only_what_is_wrong_is_shown() {
    let names: Vec<String> = (1..=16).map(|node| format!("node-{node:02}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut proof = proven(&names);
    let all_good = view(&proof, Palette::Plain);
    proof.pairs[37].outcome = silent("no answer: nobody on the link has the address");
    let one_bad = view(&proof, Palette::Plain);
    insta::assert_snapshot!(format!("{all_good}\n{one_bad}"));
}

#[test]
fn nothing_is_no_proof() {
    insta::assert_snapshot!(view(&ReachabilityProof::default(), Palette::Plain));
    let colours = view(&proven(&["a", "b"]), Palette::Colour);
    assert!(colours.contains("\u{1b}[32m→ ✓"), "{colours:?}");
}
