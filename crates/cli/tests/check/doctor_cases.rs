//! Every fault fires on its cases, with exactly the findings that each case expects, and no healthy node alarms.

use crate::common::cases::{lines, load, roots};

/// Every Spark has it by design: cases of other faults need not repeat it.
const EVERY_GB10: &str = " info gpudirect-not-on-gb10 ";

/// The differences of all cases at once: one change to a check may touch many.
fn compare(folder: &str) {
    let mut differences: Vec<String> = Vec::new();
    for (file, cases) in load(folder) {
        for case in cases {
            let diagnosis = case.diagnose();
            let found = lines(&diagnosis);
            let mut expected = case.expect.clone();
            expected.sort();
            let standing = |line: &str| folder == "faults" && line.contains(EVERY_GB10);
            let name = &case.name;
            for line in found.iter().filter(|line| !expected.contains(line)) {
                if !standing(line) {
                    differences.push(format!("{folder}/{file} ({name}): unexpected: {line}"));
                }
            }
            for line in expected.iter().filter(|line| !found.contains(line)) {
                differences.push(format!("{folder}/{file} ({name}): missing: {line}"));
            }
            if let Some(mut expected) = case.roots.clone() {
                expected.sort();
                let mut roots = roots(&diagnosis);
                roots.retain(|line| !standing(line));
                if roots != expected {
                    differences.push(format!("{folder}/{file} ({name}): roots: {roots:#?}"));
                }
            }
        }
    }
    assert!(differences.is_empty(), "\n{}", differences.join("\n"));
}

#[test]
fn each_fault_is_found_and_nothing_else() {
    compare("faults");
}

#[test]
fn healthy_nodes_raise_no_alarm() {
    compare("healthy");
    for cases in load("healthy").into_values() {
        for case in cases {
            let loud = case.expect.iter().find(|line| !line.contains(" info "));
            assert_eq!(loud, None, "{}: a healthy case expects an alarm", case.name);
        }
    }
}

/// What keeps secrets out of captures keeps no fault out of sight.
#[test]
fn cases_that_are_cut_down_give_the_same_findings() {
    for folder in ["faults", "healthy"] {
        for (file, cases) in load(folder) {
            for case in cases {
                let found = lines(&case.diagnose_cut_down());
                assert_eq!(found, lines(&case.diagnose()), "{file}: {}", case.name);
            }
        }
    }
}
