//! `crosstie plan`.

use std::{
    fs,
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Component, Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, bail};
use clap::ColorChoice;
use crosstie_facts::facts;
use crosstie_model::{Facts, Plan, Spec};
use crosstie_plan::PlanError;
use crosstie_report::{
    plan::{Unread, Written, files, view},
    text::printable,
};

use crate::{
    args::{self, Targets},
    exit, output,
    parse::parse_with,
    targets::{self, CLUSTER, Found, Nodes},
};

pub(crate) fn run(arguments: &args::Plan, colour: ColorChoice) -> anyhow::Result<ExitCode> {
    let (file, Found { spec, nodes }) = find(&arguments.targets, colour)?;
    let captured = matches!(nodes, Nodes::Captured(_));
    let (mut read, unread) = divide(nodes.read());
    if captured {
        leave_strangers_out(&spec, &mut read);
    }
    let plan = make(&spec, &read, file.as_deref())?;
    if let Some(directory) = &arguments.out {
        write(&plan, directory)?;
    }
    if arguments.json {
        output::print(&output::json(&plan)?)?;
        for (node, why) in &unread {
            tracing::error!("{} could not be read: {}", printable(node), printable(why));
        }
    } else {
        let unread: Vec<Unread> = unread
            .iter()
            .map(|(node, why)| Unread { node, why })
            .collect();
        let next = if arguments.out.is_some() {
            ""
        } else {
            "crosstie plan --out DIR    writes the files, to look at or to lint"
        };
        output::print(&view(&plan, &unread, next, output::palette(colour)))?;
    }
    Ok(if plan.is_refused() || !unread.is_empty() {
        exit::tool_failed()
    } else {
        exit::CLEAN
    })
}

/// The nodes, and the cluster file that they are planned by: where it is, and what it says.
pub(crate) fn find(
    targets: &Targets,
    colour: ColorChoice,
) -> anyhow::Result<(Option<PathBuf>, Found<Spec>)> {
    let mut targets = targets.clone();
    if targets.cluster.is_none() && targets.lab.is_none() {
        targets.cluster = Some(PathBuf::from(CLUSTER));
    }
    let Found { spec, nodes } = targets::find(&targets, colour)?;
    let Some(spec) = spec else {
        bail!("a plan needs a cluster file: `crosstie init NODE…` writes one");
    };
    // A fault of the file is told before anyone is asked for a password.
    refuse_faults(&spec, targets.cluster.as_deref())?;
    Ok((targets.cluster, Found { spec, nodes }))
}

pub(crate) fn make(spec: &Spec, nodes: &[Facts], file: Option<&Path>) -> anyhow::Result<Plan> {
    crosstie_plan::plan(spec, nodes).map_err(|error| with_lines(error, file))
}

type Failed = (String, String);

/// Two captures of one node: the later one counts.
fn divide(readings: Vec<targets::Reading>) -> (Vec<Facts>, Vec<Failed>) {
    let mut read: Vec<(String, Facts)> = Vec::new();
    let mut failed = Vec::new();
    for (name, parsed) in parse_with(readings, |raw| (raw.meta.captured.clone(), facts(raw))) {
        match parsed {
            Ok((captured, facts)) => {
                let again = |(_, other): &(String, Facts)| other.host.name == facts.host.name;
                match read.iter().position(again) {
                    Some(index) if read[index].0 < captured => read[index] = (captured, facts),
                    Some(_) => {}
                    None => read.push((captured, facts)),
                }
            }
            Err(why) => failed.push((name, why)),
        }
    }
    (read.into_iter().map(|(_, facts)| facts).collect(), failed)
}

/// A folder of captures may hold other people's nodes. A node that was asked for by name is not left out.
fn leave_strangers_out(spec: &Spec, read: &mut Vec<Facts>) {
    let (own, others): (Vec<Facts>, Vec<Facts>) = read
        .drain(..)
        .partition(|facts| spec.node(&facts.host.name).is_some());
    for facts in &others {
        let name = printable(&facts.host.name);
        tracing::warn!("the capture of {name} is left out: it is not in the cluster file");
    }
    *read = if own.is_empty() { others } else { own };
}

fn refuse_faults(spec: &Spec, path: Option<&Path>) -> anyhow::Result<()> {
    let faults = spec.check();
    if faults.is_empty() {
        return Ok(());
    }
    Err(with_lines(PlanError { faults }, path))
}

/// `cluster.toml:12: [[cable]] 2: …`, a line for each fault.
fn with_lines(error: PlanError, path: Option<&Path>) -> anyhow::Error {
    let Some(path) = path else {
        return error.into();
    };
    let text = fs::read_to_string(path).unwrap_or_default();
    let causes: Vec<String> = error
        .faults
        .iter()
        .map(|fault| {
            let line = fault.place.line(&text);
            let line = line.map_or_else(String::new, |line| format!("{line}: "));
            format!("{}:{line}{fault}", path.display())
        })
        .collect();
    anyhow::Error::msg(causes.join("\n")).context("the cluster file asks for what cannot be")
}

/// `DIR/NODE/etc/…`. What is there already is replaced, file by file; no link is followed out of a node's folder.
fn write(plan: &Plan, directory: &Path) -> anyhow::Result<()> {
    let allowed = plan.nodes.iter().filter(|node| node.refusals.is_empty());
    for node in allowed {
        let folder = directory.join(folder(&node.node)?);
        for file in files(node) {
            let path = folder.join(file.path.trim_start_matches('/'));
            write_file(&path, &file).with_context(|| format!("cannot write {}", path.display()))?;
        }
    }
    Ok(())
}

/// A node's name as the name of one folder.
pub(crate) fn folder(name: &str) -> anyhow::Result<&Path> {
    let path = Path::new(name);
    let mut parts = path.components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(part)), None) if part.to_str() == Some(name) => Ok(path),
        _ => bail!("'{name}' cannot be the name of a folder"),
    }
}

fn write_file(path: &Path, file: &Written) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut options = fs::OpenOptions::new();
    let mut target = options
        .write(true)
        .create_new(true)
        .mode(file.mode)
        .open(path)?;
    target.write_all(file.text.as_bytes())
}
