//! Replays what the fuzzer found worth keeping, so that every test run has it.

use std::{fs, path::Path};

use crosstie_facts::fuzz::FactsFuzzTarget;

fn home() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../fuzz"))
}

fn targets() -> Vec<FactsFuzzTarget> {
    [
        crosstie_facts::fuzz::TARGETS,
        crosstie_nccl_log::fuzz::TARGETS,
        crosstie_node::fuzz::TARGETS,
        crosstie_reach::fuzz::TARGETS,
    ]
    .concat()
}

#[test]
fn every_target_returns_on_its_corpus() {
    for (name, run) in targets() {
        let folder = home().join("corpus").join(name);
        let entries = fs::read_dir(&folder)
            .unwrap_or_else(|error| panic!("{}: {error}: put a seed there", folder.display()));
        let mut replayed = 0;
        for entry in entries {
            run(&fs::read(entry.unwrap().path()).unwrap());
            replayed += 1;
        }
        assert!(replayed > 0, "{} is empty", folder.display());
        // Every parser meets these sooner or later.
        for bytes in [&b""[..], b"\0", b"\xff\xfe", &[b'['; 5000], &[b'{'; 5000]] {
            run(bytes);
        }
    }
}

#[test]
fn targets_programs_and_corpora_are_the_same_set() {
    let mut names: Vec<String> = targets().iter().map(|(name, _)| (*name).into()).collect();
    names.sort();
    let text = fs::read_to_string(home().join("Cargo.toml")).unwrap();
    let manifest: toml::Table = text.parse().unwrap();
    let mut programs: Vec<String> = manifest["bin"]
        .as_array()
        .unwrap()
        .iter()
        .map(|program| program["name"].as_str().unwrap().to_owned())
        .collect();
    programs.sort();
    assert_eq!(programs, names, "fuzz/Cargo.toml");
    let mut corpora: Vec<String> = fs::read_dir(home().join("corpus"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    corpora.sort();
    assert_eq!(corpora, names, "fuzz/corpus");
}
