//! Every `crosstie WORD` that a page, a help text or a message offers is a command of this build.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use crate::common::command;

/// Where texts for people are, below the root of the repository.
const PLACES: [(&str, &str); 6] = [
    ("README.md", "md"),
    ("ARCHITECTURE.md", "md"),
    ("CONTRIBUTING.md", "md"),
    ("docs", "md"),
    ("crates", "rs"),
    ("scripts", ""),
];

fn files(path: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    if path.is_file() {
        let is_wanted = path.extension().unwrap_or_default() == ending;
        // What tests say may be wrong on purpose.
        let is_test = path.components().any(|part| {
            let part = part.as_os_str();
            part == "tests" || part == "tests.rs"
        });
        if is_wanted && !is_test {
            found.push(path.to_owned());
        }
        return;
    }
    for entry in fs::read_dir(path).unwrap() {
        files(&entry.unwrap().path(), ending, found);
    }
}

/// The words behind `crosstie ` where it stands as a command: at the beginning of a line, behind a prompt, or quoted.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(|line| {
        let starts = line.match_indices("crosstie ").filter(|(index, _)| {
            let before = line[..*index].trim_start();
            before.is_empty()
                || before.ends_with(['`', '$', '#', '(', ';'])
                || before.ends_with("sudo ")
        });
        starts.filter_map(|(index, found)| {
            let rest = &line[index + found.len()..];
            let length = rest.find(|letter: char| !letter.is_ascii_lowercase() && letter != '-');
            let word = &rest[..length.unwrap_or(rest.len())];
            // An option, a placeholder, or prose that happens to begin a line.
            let is_word = !word.is_empty() && !word.starts_with('-');
            let is_code = line[..index].ends_with('`') || !rest.ends_with('.');
            (is_word && is_code).then_some(word)
        })
    })
}

fn is_command(word: &str) -> bool {
    let (code, _, _) = command::crosstie("", &[word, "--help"]);
    code == 0
}

#[test]
fn every_command_that_is_named_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut note = |place: &str, text: &str| {
        for word in words(text) {
            let places = found.entry(word.to_owned()).or_default();
            places.push(place.to_owned());
        }
    };
    for (place, ending) in PLACES {
        let mut paths = Vec::new();
        files(&root.join(place), ending, &mut paths);
        for path in paths {
            note(
                &path.display().to_string(),
                &fs::read_to_string(&path).unwrap(),
            );
        }
    }
    let pages = tempfile::tempdir().unwrap();
    let (code, _, stderr) =
        command::crosstie("", &["man", "--out", pages.path().to_str().unwrap()]);
    assert_eq!(code, 0, "{stderr}");
    for page in fs::read_dir(pages.path()).unwrap() {
        let path = page.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        note(&path.display().to_string(), &text);
    }
    assert!(found.len() > 10, "{:?}", found.keys());
    found.retain(|word, _| !is_command(word));
    assert!(found.is_empty(), "no such commands: {found:#?}");
}
