//! What is generated from the command line's own description.

mod complete;

use std::{fs, path::Path, process::ExitCode};

use anyhow::Context;
use clap::CommandFactory;
use crosstie_report::schemas;

use crate::{args::Arguments, exit, output};

pub(crate) use complete::Names;

pub(crate) fn completions(shell: clap_complete::Shell) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "crosstie", &mut script);
    let script = complete::with_names(shell, &String::from_utf8_lossy(&script));
    output::print(&script)?;
    Ok(exit::CLEAN)
}

/// For the scripts of [`completions`].
pub(crate) fn names(names: Names) -> anyhow::Result<ExitCode> {
    let list = names.list().join("\n");
    output::print(&format!("{list}\n"))?;
    Ok(exit::CLEAN)
}

pub(crate) fn man(out: Option<&Path>) -> anyhow::Result<ExitCode> {
    let command = Arguments::command();
    if let Some(directory) = out {
        fs::create_dir_all(directory)
            .with_context(|| format!("cannot make {}", directory.display()))?;
        clap_mangen::generate_to(command, directory)
            .with_context(|| format!("cannot write manual pages to {}", directory.display()))?;
    } else {
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page)?;
        output::print(&String::from_utf8_lossy(&page))?;
    }
    Ok(exit::CLEAN)
}

pub(crate) fn schema(what: &str) -> anyhow::Result<ExitCode> {
    let found = schemas::find(what).context("there is no such schema")?;
    output::print_json(&(found.schema)())?;
    Ok(exit::CLEAN)
}
