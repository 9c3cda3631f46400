//! `crosstie restore`: what ports lose with every boot, set again.

use std::{fs::File, io::Read, path::Path, process::ExitCode, time::Duration};

use anyhow::{Context, ensure};
use crosstie_model::plan::Boot;
use crosstie_node::port_settings;

use crate::{exit, output};

/// For drivers that are still busy with their ports. The boot unit gives us twice that.
const PATIENCE: Duration = Duration::from_secs(30);
/// For network managers to have seen every port after a boot.
const MANAGERS_START_TIMEOUT: Duration = Duration::from_secs(15);
/// A machine with hundreds of ports is far below.
const LONGEST: u64 = 1 << 20;

pub(crate) fn run(file: &Path) -> anyhow::Result<ExitCode> {
    let cannot = || format!("cannot restore ports from {}", file.display());
    let text = read(file).with_context(cannot)?;
    let boot = Boot::from_toml(&text).with_context(cannot)?;
    let failed = port_settings::restore(&boot, PATIENCE);
    port_settings::keep_down(&boot, MANAGERS_START_TIMEOUT);
    if failed.is_empty() {
        return Ok(exit::CLEAN);
    }
    for error in failed {
        output::complain_briefly(&error.into());
    }
    Ok(exit::tool_failed())
}

fn read(file: &Path) -> anyhow::Result<String> {
    let mut text = String::new();
    File::open(file)?
        .take(LONGEST + 1)
        .read_to_string(&mut text)?;
    ensure!(
        text.len() as u64 <= LONGEST,
        "it is larger than {LONGEST} bytes"
    );
    Ok(text)
}
