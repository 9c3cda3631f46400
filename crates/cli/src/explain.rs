//! `crosstie explain`: a fault of the catalogue, or an NCCL log.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, bail};
use clap::ColorChoice;
use crosstie_control::{FleetSnapshot, captured};
use crosstie_doctor::checks;
use crosstie_model::{Facts, Severity};
use crosstie_nccl_log::{Reader, Report};
use crosstie_report::{explain, nccl_log};

use crate::{args::Explain, exit, output};

const PIECE: usize = 256 << 10;

pub(crate) fn run(arguments: &Explain, colour: ColorChoice) -> anyhow::Result<ExitCode> {
    match (&arguments.nccl_log, &arguments.id) {
        (Some(path), _) => log(path, arguments, colour),
        (None, Some(id)) => check(id, colour),
        (None, None) => {
            output::print(&explain::list(output::palette(colour)))?;
            Ok(exit::CLEAN)
        }
    }
}

fn check(id: &str, colour: ColorChoice) -> anyhow::Result<ExitCode> {
    let Some(check) = checks::find(id) else {
        let nearest = explain::nearest(id);
        let hint = if nearest.is_empty() {
            "`crosstie explain` lists them all".to_owned()
        } else {
            format!("did you mean {}?", nearest.join(", "))
        };
        bail!("there is no fault called {id:?}; {hint}");
    };
    output::print(&explain::check(check, output::palette(colour)))?;
    Ok(exit::CLEAN)
}

fn log(path: &Path, arguments: &Explain, colour: ColorChoice) -> anyhow::Result<ExitCode> {
    let facts = known(&arguments.from)?;
    let report = if path == Path::new("-") {
        read(io::stdin().lock(), &facts).context("cannot read the log from standard input")?
    } else {
        let cannot = || format!("cannot read the log {}", path.display());
        let file = File::open(path).with_context(cannot)?;
        read(file, &facts).with_context(cannot)?
    };
    if arguments.json {
        output::print(&output::json(&report)?)?;
    } else {
        output::print(&nccl_log::view(&report, output::palette(colour)))?;
    }
    let faulty = report
        .findings
        .iter()
        .any(|finding| finding.severity == Severity::Fault);
    Ok(if faulty { exit::faults() } else { exit::CLEAN })
}

/// The facts of captured nodes. One that cannot be read is an error: it was asked for.
fn known(paths: &[PathBuf]) -> anyhow::Result<Vec<Facts>> {
    let mut known = Vec::new();
    for node in FleetSnapshot::parse(captured(paths)?).nodes {
        match node.facts {
            Ok(facts) => known.push((*facts).clone()),
            Err(error) => bail!("cannot use the capture {}: {}", node.name, error.line()),
        }
    }
    Ok(known)
}

fn read(mut log: impl Read, facts: &[Facts]) -> io::Result<Report> {
    let mut reader = Reader::new();
    let mut piece = vec![0; PIECE];
    loop {
        match log.read(&mut piece) {
            Ok(0) => return Ok(reader.finish(facts)),
            Ok(length) => reader.feed(&piece[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
