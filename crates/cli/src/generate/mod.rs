//! What is generated from the command line's own description.

mod complete;

use std::{fs, path::Path, process::ExitCode};

use anyhow::Context;
use clap::CommandFactory;
use crosstie_report::{
    completion::with_names,
    document::{closed_schema, document_schema},
    schemas::{NamedSchema, SCHEMAS},
};

use crate::{args::Arguments, exit, output};

pub(crate) use complete::CompletionNames;

pub(crate) fn completions(shell: clap_complete::Shell) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    let mut command = Arguments::command();
    clap_complete::generate(shell, &mut command, "crosstie", &mut script);
    let script = String::from_utf8_lossy(&script);
    let script = with_names(&shell.to_string(), &script, &hidden(&command));
    output::print(&script)?;
    Ok(exit::CLEAN)
}

/// Commands that only this program and nodes start.
fn hidden(command: &clap::Command) -> Vec<&str> {
    let inner = command.get_subcommands().flat_map(hidden);
    let own = command.get_subcommands().filter(|one| one.is_hide_set());
    own.map(clap::Command::get_name).chain(inner).collect()
}

/// For the scripts of [`completions`].
pub(crate) fn names(names: CompletionNames) -> anyhow::Result<ExitCode> {
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

const OF_LABS: &[NamedSchema] = &[
    NamedSchema {
        name: "lab-list",
        of: "`crosstie lab list --json`",
        schema: closed_schema::<Vec<crosstie_lab::LabListing>>,
    },
    NamedSchema {
        name: "lab-fault",
        of: "`crosstie lab fault --show`",
        schema: document_schema::<crosstie_lab::hub::HubStatus>,
    },
];

/// All of them, those of labs at the end.
pub(crate) fn schemas() -> impl Iterator<Item = &'static NamedSchema> {
    SCHEMAS.iter().chain(OF_LABS)
}

pub(crate) fn schema(what: &str) -> anyhow::Result<ExitCode> {
    let found = schemas().find(|schema| schema.name == what);
    let found = found.context("there is no such schema")?;
    output::print_json(&(found.schema)())?;
    Ok(exit::CLEAN)
}
