//! The binary, as a person would run it.

#![allow(clippy::unwrap_used)] // a test says what went wrong by panicking

use std::{path::PathBuf, process::Command};

pub(crate) fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

/// In a folder of `fixtures/`: the exit status, and what was printed on standard output and standard error.
pub(crate) fn crosstie(folder: &str, arguments: &[&str]) -> (i32, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_crosstie"))
        .args(arguments)
        .current_dir(fixtures().join(folder))
        .env_remove("CROSSTIE_LOG")
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}
