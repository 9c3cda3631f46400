//! `crosstie restore`: what ports lose with every boot, set again.

use std::{path::Path, process::ExitCode};

use crosstie_node::port_settings;

use crate::{exit, output};

pub(crate) fn run(file: &Path) -> anyhow::Result<ExitCode> {
    let failed = port_settings::restore(file)?;
    for error in &failed {
        output::complain(error);
    }
    Ok(exit::failed_if(!failed.is_empty()))
}
