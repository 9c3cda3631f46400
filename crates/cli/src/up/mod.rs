//! `crosstie up`: from cabled to proven.
//!
//! ```text
//! scan ─▶ cabling ─▶ doctor ─▶ plan, one question ─▶ apply ─▶ proof ─▶ env
//! ```
//!
//! Every stage looks for itself what there is to do, so a run that was cut short is finished by another.

pub(crate) mod args;
mod diagnosis;
mod live;
mod prove;
mod record;
mod run;
mod settle;
mod stages;
#[cfg(test)]
mod tests;

use std::process::ExitCode;

use clap::ColorChoice;

use crate::{init, terminal};
use run::Run;

pub(crate) fn run(arguments: &args::Up, colour: ColorChoice) -> anyhow::Result<ExitCode> {
    let existing = init::read(&arguments.members.output)?;
    let spec = existing.as_ref().map(|existing| &existing.spec);
    let fleet = init::fleet(&arguments.members, &arguments.root, spec, colour)?;
    terminal::is_there_or(arguments.yes, "change nodes")?;
    let mut run = Run::new(arguments, existing, fleet, colour)?;
    let ended = run.all();
    run.finish(&ended)
}
