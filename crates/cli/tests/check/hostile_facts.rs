//! Whatever a capture holds, there is an answer: facts, cages, JSON and a screen, and no panic.

use std::sync::LazyLock;

use crosstie_doctor::{DoctorInput, NodeInput, diagnose};
use crosstie_facts::{CaptureEntry, RawCapture, ReadGap, facts};
use crosstie_model::ClusterSpec;
use crosstie_node::{capture, cut_to_allow_list};
use crosstie_report::{
    doctor,
    scan::{ScanHints, ScanResult, node, view},
    text::Palette,
};
use proptest::prelude::*;

use crate::common::samples;

/// Names the sample nodes, so that the checks which need a cluster file run too.
const CLUSTER: &str = "
format = 1
name = 'samples'
[fabric]
rate_gbps = 200
[qos]
priority = 3
dscp = 26
ecn = true
[[node]]
name = 'spark-a'
[[node]]
name = 'work-b'
[[cable]]
a = 'spark-a:p1'
b = 'work-b:p0'
[[cable]]
port = 'spark-c:p1'
plane = 'leaf'
";

static SAMPLES: LazyLock<Vec<RawCapture>> = LazyLock::new(|| samples::all().collect());

/// What may stand where something else should.
fn entry() -> impl Strategy<Value = CaptureEntry> {
    let words = prop::sample::select(vec![
        "",
        "0",
        "-1",
        "255",
        "4294967296",
        "99999999999999999999",
        "NaN",
        "inf GT/s",
        "1e400 Gb/sec",
        "4: ACTIVE",
        "0x",
        "::",
        "[]",
        "{}",
        "[[[[",
        "null",
        "[{\"ifname\": 7}]",
        "<x/>",
        "a: [",
        "\u{1b}[2J",
        "Package: \n\n",
        "0-4294967295",
        "=",
        "[",
        "iface",
        "../../../etc/shadow",
    ]);
    prop_oneof![
        words.prop_map(|word| CaptureEntry::File(word.as_bytes().to_vec())),
        prop::collection::vec(any::<u8>(), 0..64).prop_map(CaptureEntry::File),
        prop::sample::select(vec![
            "..",
            "/",
            "../..",
            "../../..",
            "self",
            "/sys/class/net",
            "a/b/c"
        ])
        .prop_map(|target| CaptureEntry::Link(target.to_owned())),
        Just(CaptureEntry::Directory),
        Just(CaptureEntry::Gap(ReadGap::Denied)),
        Just(CaptureEntry::Gap(ReadGap::TooLarge)),
        Just(CaptureEntry::Gap(ReadGap::Failed(
            "Input/output error".to_owned()
        ))),
    ]
}

/// A sample with some of its entries replaced.
fn bent() -> impl Strategy<Value = RawCapture> {
    let changes = prop::collection::vec(
        (any::<prop::sample::Index>(), any::<bool>(), entry()),
        1..12,
    );
    (0..SAMPLES.len(), changes).prop_map(|(sample, changes)| {
        let mut raw = SAMPLES[sample].clone();
        let paths: Vec<String> = raw.tree().map(|(path, _)| path.to_owned()).collect();
        let commands: Vec<String> = raw.commands().map(|(name, _)| name.to_owned()).collect();
        for (index, command, entry) in changes {
            if command {
                raw.insert_command(&commands[index.index(commands.len())], entry);
            } else {
                raw.insert(&paths[index.index(paths.len())], entry);
            }
        }
        raw
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_capture_has_an_answer(raw in bent()) {
        let facts = facts(&raw);
        let scanned = node(&facts, None);
        prop_assert!(serde_json::to_string(&facts).is_ok());
        let screen = view(&[ScanResult::Node(Box::new(scanned))], &ScanHints::default(), Palette::Plain);
        let escaped = screen.contains('\u{1b}');
        prop_assert!(!escaped, "an escape reached the screen");
    }

    #[test]
    fn every_capture_has_a_diagnosis(first in bent(), second in bent(), earlier in bent()) {
        let (first, second, earlier) = (facts(&first), facts(&second), facts(&earlier));
        let patient = |facts, earlier| NodeInput { facts, earlier, clock: None };
        let patients = [patient(&first, Some(&earlier)), patient(&second, None)];
        let spec = ClusterSpec::from_toml(CLUSTER).unwrap();
        for spec in [None, Some(&spec)] {
            let diagnosis = diagnose(&DoctorInput { patients: &patients, spec, ..DoctorInput::default() });
            prop_assert!(serde_json::to_string(&diagnosis).is_ok());
            for screen in [doctor::view(&diagnosis, doctor::FindingDetail::All, Palette::Plain), doctor::view(&diagnosis, doctor::FindingDetail::Roots, Palette::Plain), doctor::markdown(&diagnosis, "0")] {
                let escaped = screen.contains('\u{1b}');
                prop_assert!(!escaped, "an escape reached the screen");
            }
        }
    }

    #[test]
    fn cutting_down_keeps_the_facts_and_happens_once(raw in bent()) {
        let once = cut_to_allow_list(&raw);
        prop_assert_eq!(&cut_to_allow_list(&once), &once);
        let again = capture::unpack(&capture::pack(&once).unwrap()).unwrap();
        prop_assert_eq!(facts(&again), facts(&once));
    }

    #[test]
    fn saved_facts_are_the_same_facts(raw in bent()) {
        let facts = facts(&raw);
        let text = serde_json::to_string(&facts).unwrap();
        prop_assert_eq!(serde_json::from_str::<crosstie_model::Facts>(&text).unwrap(), facts);
    }
}
