//! A capture keeps no secret: canaries are planted in every file and command output of the allow-list, at every position
//! that a reader of some format accepts, and none of them is found in the archive.
//!
//! Files and commands come from the rules themselves, so a rule that is added is tested too, and must have a seed.

mod people;
mod plant;
mod seeds;

use std::io::Read;

use crosstie_facts::{
    CaptureEntry, CaptureMeta, RawCapture, ReadGap,
    collect::{COMMANDS, CollectRule, FileFilter, GROUPS},
};
use crosstie_model::managed::{FileOrigin, origin};
use crosstie_node::{capture::pack, cut_to_allow_list};
use flate2::read::GzDecoder;

use plant::{PLAIN, SHAPED};

/// A rule's paths, with every star and alternative written out.
fn paths(rule: &CollectRule) -> Vec<String> {
    let path = rule.path.replace("$release", seeds::RELEASE);
    alternatives(&path.replace('*', "0"))
}

fn alternatives(path: &str) -> Vec<String> {
    let Some((before, rest)) = path.split_once('{') else {
        return vec![path.to_owned()];
    };
    let (inner, after) = rest.split_once('}').unwrap();
    inner
        .split(',')
        .flat_map(|part| alternatives(&format!("{before}{part}{after}")))
        .collect()
}

fn rules() -> impl Iterator<Item = &'static CollectRule> {
    GROUPS.into_iter().flatten()
}

fn is_kernel_file(rule: &CollectRule) -> bool {
    matches!(rule.keep, FileFilter::Whole | FileFilter::Gid)
}

/// Every file that has content, as `text` would have it.
fn with_files(text: &str, wanted: impl Fn(&CollectRule) -> bool) -> RawCapture {
    let mut raw = RawCapture::default();
    for rule in rules().filter(|rule| wanted(rule)) {
        for path in paths(rule) {
            raw.insert(&path, CaptureEntry::File(text.as_bytes().to_vec()));
        }
    }
    // Where modules are looked for; it has rules of its own elsewhere.
    let release = "proc/sys/kernel/osrelease";
    raw.insert(
        release,
        CaptureEntry::File(seeds::RELEASE.as_bytes().to_vec()),
    );
    raw
}

/// The archive before compression.
fn archived(raw: &RawCapture) -> String {
    let packed = pack(&cut_to_allow_list(raw)).unwrap();
    let mut bytes = Vec::new();
    GzDecoder::new(packed.as_slice())
        .read_to_end(&mut bytes)
        .unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Fails if a canary is in the archive, and names where it stands.
#[track_caller]
fn assert_none_in(raw: &RawCapture, planted: &str) {
    let archived = archived(raw);
    for canary in SHAPED.iter().chain([&PLAIN]) {
        if !archived.contains(canary) {
            continue;
        }
        let kept = cut_to_allow_list(raw);
        let holders: Vec<&str> = kept
            .tree()
            .chain(kept.commands())
            .filter(|(path, entry)| {
                path.contains(canary) || format!("{entry:?}").contains(canary) || {
                    let CaptureEntry::File(bytes) = entry else {
                        return false;
                    };
                    String::from_utf8_lossy(bytes).contains(canary)
                }
            })
            .map(|(path, _)| path)
            .collect();
        panic!("{canary} is in {holders:?}, planted so:\n{planted}");
    }
}

#[test]
fn nothing_beside_a_value_leaves_the_node() {
    for seed in seeds::files() {
        for planted in plant::beside(&seed) {
            let raw = with_files(&planted, |rule| !is_kernel_file(rule));
            assert_none_in(&raw, &planted);
        }
        for planted in plant::beside_kernel_values(&seed) {
            assert_none_in(&with_files(&planted, is_kernel_file), &planted);
        }
    }
}

#[test]
fn no_value_that_looks_like_a_secret_leaves_the_node() {
    for seed in seeds::files() {
        for planted in plant::as_value(&seed) {
            let raw = with_files(&planted, |_| true);
            assert_none_in(&raw, &planted);
            let once = cut_to_allow_list(&raw);
            let twice = cut_to_allow_list(&once);
            for (path, entry) in once.tree() {
                assert_eq!(twice.entry(path), Some(entry), "{path}, cut down twice");
            }
            assert_eq!(twice, once);
        }
    }
}

#[test]
fn every_rule_has_a_seed_that_it_keeps_something_of() {
    // Files of ours are kept by every rule, so they are no seed of another's files.
    let (ours, others): (Vec<_>, Vec<_>) = seeds::files()
        .into_iter()
        .partition(|seed| origin(seed) == FileOrigin::Ours);
    for rule in rules() {
        let has_content = !matches!(
            rule.keep,
            FileFilter::Link | FileFilter::Name | FileFilter::Access
        );
        for path in paths(rule) {
            let is_kept = |seed: &String| {
                let raw = with_files(seed, |other| std::ptr::eq(other, rule));
                matches!(cut_to_allow_list(&raw).entry(&path), Some(CaptureEntry::File(kept)) if !kept.is_empty())
            };
            let seeds = if path.contains("crosstie") {
                &ours
            } else {
                &others
            };
            assert!(
                !has_content || seeds.iter().any(is_kept),
                "no seed for {path}"
            );
        }
    }
}

/// By its name in a capture, with an interface for the star.
fn commands() -> impl Iterator<Item = String> {
    COMMANDS.iter().map(|rule| rule.name.replace('*', "eth0"))
}

fn with_commands(text: &str, wanted: impl Fn(&str) -> bool) -> RawCapture {
    let mut raw = RawCapture::default();
    for name in commands().filter(|name| wanted(name)) {
        raw.insert_command(&name, CaptureEntry::File(text.as_bytes().to_vec()));
    }
    raw
}

#[test]
fn no_command_tells_a_secret() {
    // What the kernel logs is prose: there, nothing but its looks tells a secret.
    let is_prose = |name: &str| name == "dmesg.txt";
    for seed in seeds::outputs() {
        for planted in plant::beside(&seed) {
            assert_none_in(&with_commands(&planted, |name| !is_prose(name)), &planted);
        }
        for planted in plant::as_value(&seed).into_iter().chain(plant::in_log()) {
            assert_none_in(&with_commands(&planted, |_| true), &planted);
        }
    }
    for seed in seeds::documents() {
        for planted in plant::in_document(&seed) {
            assert_none_in(&with_commands(&planted, |name| !is_prose(name)), &planted);
        }
    }
    for planted in plant::in_gpus(seeds::GPUS) {
        assert_none_in(&with_commands(&planted, |name| !is_prose(name)), &planted);
    }
}

#[test]
fn every_command_has_a_seed_that_it_keeps_something_of() {
    let documents = seeds::documents().into_iter();
    let seeds: Vec<String> = documents
        .map(|document| document.to_string())
        .chain(seeds::outputs())
        .chain([seeds::GPUS.to_owned()])
        .collect();
    for name in commands() {
        let is_kept = |seed: &String| {
            let kept = cut_to_allow_list(&with_commands(seed, |other| other == name));
            matches!(kept.command_entry(&name), Some(CaptureEntry::File(kept)) if kept.len() > 4)
        };
        assert!(seeds.iter().any(is_kept), "no seed for {name}");
    }
}

/// Whether a star stands for a part of a name: what is glued to a name is hardly a token.
fn is_partial(path: &str) -> bool {
    path.split('/')
        .any(|name| name.contains('*') && name != "*" && !name.starts_with("*."))
}

#[test]
fn names_links_and_reasons_hold_no_secret() {
    for secret in SHAPED {
        let mut raw = RawCapture::new(CaptureMeta {
            host: format!("node {secret}"),
            captured: secret.to_owned(),
            root_refused: Some(format!("said {secret}")),
        });
        for rule in rules() {
            let starred = rule.path.replace("$release", seeds::RELEASE);
            let (secret, is_whole) = (secret.replace('/', "+"), !is_partial(&starred));
            for path in alternatives(&starred.replace('*', &secret)) {
                if is_whole {
                    raw.insert(&path, CaptureEntry::File(b"1\n".to_vec()));
                }
            }
            for path in paths(rule) {
                raw.insert(&path, CaptureEntry::Link(format!("../{secret}/x")));
                let reason = ReadGap::Failed(format!("mount failed: {secret}"));
                raw.insert(&format!("{path}0"), CaptureEntry::Gap(reason));
            }
        }
        for name in commands().chain([PLAIN.to_owned()]) {
            raw.insert_command(
                &name,
                CaptureEntry::Gap(ReadGap::Failed(format!("said {secret}"))),
            );
        }
        for rule in &COMMANDS {
            let name = rule.name.replace('*', secret);
            raw.insert_command(&name, CaptureEntry::File(b"[]".to_vec()));
        }
        raw.insert_command(&format!("x{PLAIN}"), CaptureEntry::Link(PLAIN.to_owned()));
        assert_none_in(&raw, secret);
    }
}

/// Files that people name, each with a name of theirs before and behind a number.
fn named_by_people(text: &str) -> RawCapture {
    let mut raw = RawCapture::default();
    for rule in
        rules().filter(|rule| rule.path.starts_with("etc/") || rule.path.starts_with("{etc,"))
    {
        let is_text = matches!(rule.keep, FileFilter::Filtered(_) | FileFilter::Private(_));
        let (folder, last) = rule.path.rsplit_once('/').unwrap();
        for name in [
            PLAIN,
            "60-canaryplain",
            "canaryplain 5G",
            "60_canaryplain-x",
        ] {
            let path = format!("{folder}/{}", last.replace('*', name));
            if !is_text || !last.contains('*') {
                continue;
            }
            let paths = alternatives(&path.replace('*', "0"));
            // What lies there is a package's.
            for path in paths.iter().filter(|path| !path.starts_with("usr/")) {
                raw.insert(path, CaptureEntry::File(text.as_bytes().to_vec()));
            }
        }
    }
    raw
}

/// They look like no secret, and are nobody else's business: a site, a provider, a Wi-Fi, a tunnel, a person.
#[test]
fn names_that_people_gave_stay_on_the_node() {
    let told = [
        "canaryplain - memlock 64\n@canaryplain soft memlock 1\n%canaryplain hard memlock 2\n* - memlock unlimited\n",
        "net.ipv4.conf.canaryplain.rp_filter = 1\nnet/ipv6/conf/canaryplain.7/disable_ipv6 = 1\nnet.core.rmem_max = 7\n",
    ];
    for text in seeds::files().iter().map(String::as_str).chain(told) {
        let raw = named_by_people(text);
        assert_none_in(&raw, text);
        let once = cut_to_allow_list(&raw);
        assert_eq!(cut_to_allow_list(&once), once, "{text}");
    }
    for text in told {
        assert_none_in(&with_files(text, |rule| !is_kernel_file(rule)), text);
    }
}

/// What is diagnosed does not depend on what people call things.
#[test]
fn limits_are_the_same_without_the_names_of_users_and_files() {
    let limits = |raw: &RawCapture| {
        let lines = crosstie_facts::facts(raw).system.limit_lines;
        let told = lines
            .into_iter()
            .map(|line| (line.domain, line.kind, line.value));
        told.collect::<Vec<_>>()
    };
    let mut raw = RawCapture::default();
    for (name, text) in [
        ("zeta.conf", "* soft memlock 64\n"),
        (
            "90-alice.conf",
            "alice - memlock 8\n* - memlock unlimited\n",
        ),
        ("alice.conf", "root - memlock 1\n"),
    ] {
        let path = format!("etc/security/limits.d/{name}");
        raw.insert(&path, CaptureEntry::File(text.as_bytes().to_vec()));
    }
    let live = crosstie_facts::collect::collect_all(&raw);
    let captured = cut_to_allow_list(&raw);
    assert_eq!(limits(&captured), limits(&live));
    let words: Vec<String> = limits(&live)
        .into_iter()
        .map(|(domain, kind, value)| format!("{domain} {kind} {value}"))
        .collect();
    assert_eq!(
        words,
        ["user - 8", "* - unlimited", "root - 1", "* soft 64"]
    );
}
