//! Trials whose fault is drawn by lot: is it named, and nothing else? `scripts/prove-blind` runs more of them, and writes what
//! came of all into the docs.

use std::{collections::BTreeMap, env, fs::OpenOptions, io::Write};

use crate::common::{
    proofs::{limited_two_sparks, roots},
    prove_faults::{Injected, Severity},
};

/// Of 24 trials.
const HEALTHY: usize = 6;
const TRIALS: usize = 24;
/// That may be wrong, and none of them a false alarm.
const MOST_WRONG: usize = 2;

/// splitmix64.
struct Lots(u64);

impl Lots {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }
}

/// A quarter of the trials has no fault; of the others each is any of the faults.
fn drawn(seed: u64, trials: usize) -> Vec<(Injected, Severity)> {
    let mut lots = Lots(seed);
    let healthy = trials * HEALTHY / TRIALS;
    let mut all: Vec<Injected> = vec![Injected::Nothing; healthy];
    while all.len() < trials {
        all.push(Injected::FAULTS[lots.below(Injected::FAULTS.len())]);
    }
    for last in (1..all.len()).rev() {
        all.swap(last, lots.below(last + 1));
    }
    let severity = |_| Severity {
        node: ["spark-a", "spark-b"][lots.below(2)],
        much: lots.next() % 100,
    };
    let severities: Vec<Severity> = (0..trials).map(severity).collect();
    all.into_iter().zip(severities).collect()
}

fn number(variable: &str, usual: usize) -> usize {
    env::var(variable).map_or(usual, |text| text.parse().unwrap())
}

#[test]
fn full_prove_blind() {
    let trials = number("CROSSTIE_BLIND_TRIALS", TRIALS);
    let seed = number("CROSSTIE_BLIND_SEED", 1);
    let drawn = drawn(seed as u64, trials);
    let from = number("CROSSTIE_BLIND_FROM", 0);
    let until = number("CROSSTIE_BLIND_UNTIL", trials).min(trials);
    let mut wrong: BTreeMap<usize, (Injected, Vec<String>)> = BTreeMap::new();
    for (trial, (fault, severity)) in drawn.into_iter().enumerate().take(until).skip(from) {
        // Every trial begins with nodes from the same snapshot, and cables without a fault.
        let proven = limited_two_sparks();
        let found = roots(&fault.proven(&proven, severity));
        let is_right = found.iter().map(String::as_str).eq(fault.root());
        let line = serde_json::json!({
            "seed": seed, "trial": trial, "fault": fault.name(), "node": severity.node, "much": severity.much,
            "wanted": fault.root(), "found": found, "right": is_right,
        });
        println!("{line}");
        if let Some(path) = env::var_os("CROSSTIE_BLIND_RESULTS") {
            let mut file = OpenOptions::new()
                .append(true)
                .create(true)
                .open(path)
                .unwrap();
            writeln!(file, "{line}").unwrap();
        }
        if !is_right {
            wrong.insert(trial, (fault, found));
        }
    }
    let false_alarms = wrong
        .values()
        .filter(|(fault, _)| *fault == Injected::Nothing);
    assert_eq!(false_alarms.count(), 0, "{wrong:#?}");
    assert!(wrong.len() <= MOST_WRONG, "{wrong:#?}");
}
