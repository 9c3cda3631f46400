//! What is generated from the command line's own description.

use std::{fs, path::Path, process::ExitCode};

use anyhow::Context;
use clap::CommandFactory;

use crate::{
    args::{Arguments, Schema},
    exit, output,
};

pub(crate) fn completions(shell: clap_complete::Shell) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "crosstie", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
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

pub(crate) fn schema(what: Schema) -> anyhow::Result<ExitCode> {
    let schema = match what {
        Schema::Scan => crosstie_report::scan::schema(),
        Schema::Doctor => crosstie_report::doctor::schema(),
        Schema::Discover => crosstie_report::discover::schema(),
        Schema::Explain => crosstie_report::nccl_log::schema(),
        Schema::Plan => crosstie_report::plan::schema(),
        Schema::Init => crosstie_report::init::schema(),
        Schema::Apply => crosstie_report::change::schema(),
        Schema::Status => crosstie_report::status::schema(),
        Schema::Bench => crosstie_report::bench::schema(),
        Schema::Report => crosstie_report::run_report::schema(),
        Schema::Compare => crosstie_report::compare::schema(),
        Schema::Up => crosstie_report::up::schema(),
        Schema::Cluster => crosstie_report::plan::cluster_schema(),
    };
    output::print(&output::json(&schema)?)?;
    Ok(exit::CLEAN)
}
