//! `crosstie rank` and `crosstie rank-shell`: what the unit of a job runs, and what mpirun calls in place of ssh.

use std::{path::Path, process::ExitCode};

use crosstie_jobs::rank::{run as run_rank, run_on_peer};

use crate::exit;

pub(crate) fn run(folder: &Path) -> anyhow::Result<ExitCode> {
    Ok(exit::faults_if(!run_rank(folder)?))
}

pub(crate) fn shell(host: &str, command: &[String]) -> anyhow::Result<ExitCode> {
    Ok(ExitCode::from(run_on_peer(host, command)?))
}
