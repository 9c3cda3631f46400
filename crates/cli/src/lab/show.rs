//! What the lab commands print.

use std::io::{Write, stderr, stdout};
use std::time::Instant;

use anyhow::Result;
use crosstie_lab::hub::Status;
use crosstie_lab::{Lab, Listed, NodeState};

pub(super) fn progress(started: Instant, text: &str) {
    // Nobody to tell when standard error is closed.
    let _ = writeln!(
        stderr(),
        "[{:6.1} s] {text}",
        started.elapsed().as_secs_f64()
    );
}

pub(super) fn error(error: &dyn std::error::Error) {
    let _ = writeln!(stderr(), "{error}");
}

pub(super) fn lab(lab: &Lab) -> Result<()> {
    let mut out = stdout().lock();
    let status = lab.status();
    writeln!(
        out,
        "lab {} ({}) is up:",
        status.lab,
        lab.profile().description
    )?;
    for node in &status.nodes {
        writeln!(
            out,
            "  {:16} {:8} crosstie lab ssh {}",
            node.name,
            word(node.state),
            node.name
        )?;
    }
    writeln!(out, "ssh -F {} NODE works too", lab.ssh_config().display())?;
    Ok(())
}

pub(super) fn list(labs: &[Listed], json: bool) -> Result<()> {
    let mut out = stdout().lock();
    if json {
        serde_json::to_writer_pretty(&mut out, labs)?;
        writeln!(out)?;
        return Ok(());
    }
    if labs.is_empty() {
        writeln!(out, "no lab is up")?;
    }
    for lab in labs {
        writeln!(out, "{} ({})", lab.lab, lab.profile)?;
        for node in &lab.nodes {
            writeln!(
                out,
                "  {:16} {:8} ssh 127.0.0.1:{}",
                node.name,
                word(node.state),
                node.ssh_port
            )?;
        }
    }
    Ok(())
}

pub(super) fn faults(status: &Status) -> Result<()> {
    let mut out = stdout().lock();
    serde_json::to_writer_pretty(&mut out, status)?;
    writeln!(out)?;
    Ok(())
}

const fn word(state: NodeState) -> &'static str {
    match state {
        NodeState::Starting => "starting",
        NodeState::Running => "running",
        NodeState::Paused => "paused",
        NodeState::Off => "off",
    }
}
