//! The binary, as a person would run it.

#![allow(clippy::unwrap_used)] // a test says what went wrong by panicking
#![allow(dead_code)] // each test file uses its share

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

pub(crate) fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

/// In a folder of `fixtures/`, or any other whose whole path is given.
pub(crate) fn command(folder: impl AsRef<Path>, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crosstie"));
    command
        .args(arguments)
        .current_dir(fixtures().join(folder))
        .env_remove("CROSSTIE_LOG");
    command
}

/// The exit status, and what was printed on standard output and standard error.
pub(crate) fn said(output: Output) -> (i32, String, String) {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

/// Without a terminal.
pub(crate) fn crosstie(folder: impl AsRef<Path>, arguments: &[&str]) -> (i32, String, String) {
    said(command(folder, arguments).output().unwrap())
}
