//! What a command prints.

use std::io;

use crosstie_report::document::{FailureReport, JsonDocument};
pub(crate) use crosstie_terminal::{
    print, print_behind, print_error, print_sentences, print_stderr,
};
use serde::Serialize;

/// A value to stdout: as JSON for a program, in the words of `view` for a person.
pub(crate) fn report(
    json: bool,
    value: &impl Serialize,
    view: impl FnOnce() -> String,
) -> io::Result<()> {
    if json {
        print_json(value)
    } else {
        print(&view())
    }
}

/// For a program, and for a person's eyes.
pub(crate) fn print_json(value: &impl Serialize) -> io::Result<()> {
    print(&(serde_json::to_string_pretty(value)? + "\n"))
}

/// What a program is told that waited for something else.
pub(crate) fn print_failure(failure: &FailureReport) {
    // Where stdout is gone, whoever reads stderr knows.
    let _ = print_json(&JsonDocument::new(failure));
}
