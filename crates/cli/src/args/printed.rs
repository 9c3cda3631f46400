//! Every command that a page, a help text, a message or a recorded screen offers parses, with its options.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::{CommandFactory, Parser, error::ErrorKind};

use super::Arguments;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files(folder: &Path, ending: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, ending, found);
        } else if path
            .extension()
            .is_some_and(|extension| extension == ending)
        {
            found.push(path);
        }
    }
}

fn pages() -> Vec<PathBuf> {
    let mut paths = ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md"]
        .map(|name| root().join(name))
        .to_vec();
    files(&root().join("docs"), "md", &mut paths);
    paths
}

/// Lines of code in a page, those that go on joined.
fn code(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut is_code = false;
    let mut goes_on = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
            goes_on = false;
            continue;
        }
        if !is_code && !line.starts_with("    ") {
            continue;
        }
        let (line, continues) = match line.trim().strip_suffix('\\') {
            Some(line) => (line, true),
            None => (line.trim(), false),
        };
        match lines.last_mut() {
            Some(last) if goes_on => {
                last.push(' ');
                last.push_str(line);
            }
            _ => lines.push(line.to_owned()),
        }
        goes_on = continues;
    }
    lines
}

/// The command at the beginning of a line, without what the shell does with it and what is said of it.
fn command(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = ["$ ", "# ", "sudo "].iter().fold(line, |line, prompt| {
        line.strip_prefix(prompt).unwrap_or(line)
    });
    let line = line.strip_prefix("crosstie ")?;
    let ends = [
        "   ", " | ", " > ", " >", " < ", " 3<", " # ", " #", " && ", " → ", " ; ",
    ];
    let end = ends.iter().filter_map(|end| line.find(end)).min();
    Some(line[..end.unwrap_or(line.len())].trim())
}

/// As a shell would, as far as pages go.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for letter in line.chars() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            (_, letter) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

/// What is wrong with a command, if it is not only that something is missing here which it names.
fn fault(line: &str) -> Option<String> {
    // A list that goes on, a choice, or prose.
    let is_sketch = ["…", "...", "[", "{", "("]
        .iter()
        .any(|sign| line.contains(sign));
    // A descriptor that only the shell of the page has open.
    if is_sketch || line.contains("-fd ") || line.ends_with(['.', ',', ':']) {
        return None;
    }
    let error = parsed(line).err()?;
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => None,
        _ => Some(format!("crosstie {line}: {error}")),
    }
}

fn parsed(line: &str) -> Result<Arguments, clap::Error> {
    let given = ["crosstie".to_owned()].into_iter().chain(words(line));
    Arguments::try_parse_from(given)
}

/// Of a command that is named within a sentence, which may leave out what it takes.
fn fault_of_name(line: &str) -> Option<String> {
    let error = parsed(line).err()?;
    let is_short = matches!(
        error.kind(),
        ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
            | ErrorKind::MissingRequiredArgument
            | ErrorKind::MissingSubcommand
    ) || error.to_string().contains("a value is required");
    (!is_short).then(|| format!("crosstie {line}: {error}"))
}

/// Between backquotes.
fn named(text: &str) -> impl Iterator<Item = &str> {
    let found = text.match_indices("`crosstie ").filter_map(|(at, begin)| {
        let line = &text[at + begin.len()..];
        let end = line.find(['`', '\n'])?;
        line[end..].starts_with('`').then_some(&line[..end])
    });
    // What the code fills in, or a word that stands for others.
    found.filter(|line| !line.is_empty() && !line.contains('{') && *line != "WORD")
}

#[test]
fn commands_named_in_sentences_parse() {
    let mut paths = pages();
    files(&root().join("crates"), "rs", &mut paths);
    let mut count = 0;
    let mut faults = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        for line in named(&text) {
            count += 1;
            let fault = fault_of_name(line);
            faults.extend(fault.map(|fault| format!("{}: {fault}", path.display())));
        }
    }
    assert!(count > 100, "{count} commands");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// What a screen offers, at the beginning of a line or behind a label.
fn offered(line: &str) -> Option<&str> {
    let (before, line) = line.split_once("crosstie ")?;
    let is_offer = before.is_empty() || before.ends_with(' ');
    let end = line.find("    ").unwrap_or(line.len());
    is_offer.then(|| line[..end].trim_end())
}

/// Screens that tests keep. Those of narrow terminals break commands, which wider ones show whole.
#[test]
fn commands_of_recorded_screens_parse() {
    let mut paths = Vec::new();
    files(&root().join("crates"), "snap", &mut paths);
    paths.retain(|path| !path.to_string_lossy().contains("_40"));
    let mut count = 0;
    let mut faults = Vec::new();
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        let screen = text.splitn(3, "---\n").nth(2).unwrap_or_default();
        for line in screen.lines().filter_map(offered) {
            count += 1;
            let fault = fault(line);
            faults.extend(fault.map(|fault| format!("{}: {fault}", path.display())));
        }
    }
    assert!(count > 10, "{count} commands");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn commands_of_pages_parse() {
    let mut count = 0;
    let mut faults = Vec::new();
    for path in pages() {
        let text = fs::read_to_string(&path).unwrap();
        for line in code(&text) {
            if let Some(line) = command(&line) {
                count += 1;
                let fault = fault(line);
                faults.extend(fault.map(|fault| format!("{}: {fault}", path.display())));
            }
        }
    }
    assert!(count > 40, "{count} commands");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// A remark behind a command that is not a comment to a shell, so that the line cannot be pasted whole.
fn bare_remark(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = line.strip_prefix("Next: ").unwrap_or(line);
    // The board of `up` begins with its name.
    let has_remark = line.starts_with("crosstie ") && !line.starts_with("crosstie up  scan");
    let (_, remark) = line.split_once("   ").filter(|_| has_remark)?;
    let remark = remark.trim_start();
    (!remark.is_empty() && !remark.starts_with("# ")).then_some(line)
}

#[test]
fn what_is_said_of_a_command_is_a_comment_to_a_shell() {
    let mut paths = pages();
    files(&root().join("crates"), "snap", &mut paths);
    let mut texts: Vec<String> = Vec::new();
    texts.extend(paths.iter().map(|path| fs::read_to_string(path).unwrap()));
    collect_helps(&Arguments::command(), &mut texts);
    let lines = texts.iter().flat_map(|text| text.lines());
    let bare: Vec<&str> = lines.filter_map(bare_remark).collect();
    assert!(bare.is_empty(), "{}", bare.join("\n"));
}

fn collect_helps(command: &clap::Command, found: &mut Vec<String>) {
    let texts = [command.get_after_help(), command.get_after_long_help()];
    found.extend(texts.into_iter().flatten().map(ToString::to_string));
    for inner in command.get_subcommands() {
        collect_helps(inner, found);
    }
}

#[test]
fn commands_of_help_texts_parse() {
    let mut found = Vec::new();
    collect_helps(&Arguments::command(), &mut found);
    let joined: Vec<String> = found
        .iter()
        .map(|text| text.replace("\\\n      ", ""))
        .collect();
    let lines = joined.iter().flat_map(|text| text.lines());
    let commands: Vec<&str> = lines.filter_map(command).collect();
    assert!(commands.len() > 40, "{} commands", commands.len());
    let faults: Vec<String> = commands.into_iter().filter_map(fault).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Wider lines are broken between words: that is right for a sentence, and makes a command of the end of a remark.
#[test]
fn examples_of_help_texts_fit_a_terminal_and_sentences_are_not_broken_twice() {
    let mut found = Vec::new();
    collect_helps(&Arguments::command(), &mut found);
    for text in found {
        let mut is_sentence = false;
        for line in text.lines() {
            let is_example = line.starts_with("  ");
            assert!(!is_example || line.chars().count() < 80, "{line}");
            let goes_on = is_sentence && !is_example && !line.is_empty();
            assert!(!goes_on, "one line is one paragraph: {line}");
            is_sentence = !is_example && !line.is_empty();
        }
    }
}
