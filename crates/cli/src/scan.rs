//! `crosstie scan`.

use std::{path::Path, process::ExitCode};

use anyhow::{Context, bail};
use clap::ColorChoice;
use crosstie_facts::{Raw, facts};
use crosstie_model::{Facts, Spec};
use crosstie_node::capture;
use crosstie_report::scan::{Outcome, node, view};
use serde_json::Value;

use crate::{
    args::Scan,
    exit,
    lab::{self, LabCluster},
    nodes, output,
};

/// What was read of one node, or why nothing was.
pub(crate) type Reading = (String, Result<Raw, String>);

pub(crate) fn run(scan: &Scan, colour: ColorChoice) -> anyhow::Result<ExitCode> {
    let lab = scan.lab.as_deref().map(lab::cluster).transpose()?;
    let spec = match (&scan.cluster, &lab) {
        (Some(path), _) => Some(cluster_file(path)?),
        (None, lab) => lab.as_ref().map(|lab| lab.spec.clone()),
    };
    let readings = match (&lab, scan.from.is_empty()) {
        (
            Some(LabCluster {
                nodes, ssh_config, ..
            }),
            _,
        ) => nodes::collect(nodes, Some(ssh_config), &scan.reach, colour)?,
        (None, true) => nodes::collect(
            &scan.nodes,
            scan.reach.ways.ssh_config.as_deref(),
            &scan.reach,
            colour,
        )?,
        (None, false) => captured(scan)?,
    };
    if let Some(path) = &scan.capture {
        keep(&readings, path)?;
    }
    let from_capture = !scan.from.is_empty();
    let scanned: Vec<(Outcome, Option<Facts>)> = readings
        .into_iter()
        .map(|(name, raw)| match raw {
            Ok(raw) => {
                let facts = facts(&raw);
                let mut node = node(&facts, spec.as_ref());
                if from_capture {
                    node.source = Some(name);
                } else if name != "." {
                    node.reached = Some(name);
                }
                (Outcome::Node(Box::new(node)), Some(facts))
            }
            Err(error) => (Outcome::Failed { host: name, error }, None),
        })
        .collect();
    let failed = scanned.iter().any(|(_, facts)| facts.is_none());
    if scan.json {
        output::print(&json(&scanned, scan.facts)?)?;
    } else {
        let outcomes: Vec<Outcome> = scanned.into_iter().map(|(outcome, _)| outcome).collect();
        output::print(&view(
            &outcomes,
            &next(scan, &outcomes),
            output::palette(colour),
        ))?;
    }
    Ok(if failed {
        exit::tool_failed()
    } else {
        exit::CLEAN
    })
}

fn cluster_file(path: &Path) -> anyhow::Result<Spec> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("cannot read the cluster file {}", path.display()))?;
    Spec::from_toml(&text).with_context(|| format!("cannot use {}", path.display()))
}

fn captured(scan: &Scan) -> anyhow::Result<Vec<Reading>> {
    let mut readings = Vec::new();
    for path in &scan.from {
        for loaded in capture::load(path)? {
            let name = loaded.path.file_name().unwrap_or(loaded.path.as_os_str());
            let raw = loaded
                .raw
                .map_err(|error| format!("{:#}", anyhow::Error::from(error)));
            readings.push((name.to_string_lossy().into_owned(), raw));
        }
    }
    Ok(readings)
}

/// A capture made by hand is cut down to the allow-list on its way through.
fn keep(readings: &[Reading], path: &Path) -> anyhow::Result<()> {
    let [(_, Ok(raw))] = readings else {
        bail!(
            "--capture keeps one node, and {} were read",
            readings.iter().filter(|(_, raw)| raw.is_ok()).count()
        );
    };
    capture::write(&crosstie_node::sanitised(raw), path)?;
    Ok(())
}

fn json(scanned: &[(Outcome, Option<Facts>)], with_facts: bool) -> anyhow::Result<String> {
    let mut nodes = Vec::new();
    for (outcome, facts) in scanned {
        let mut value = serde_json::to_value(outcome)?;
        if let (true, Some(facts), Value::Object(fields)) = (with_facts, facts, &mut value) {
            fields.insert("facts".to_owned(), serde_json::to_value(facts)?);
        }
        nodes.push(value);
    }
    Ok(format!("{}\n", serde_json::to_string_pretty(&nodes)?))
}

/// The command that a person would want now.
fn next(scan: &Scan, outcomes: &[Outcome]) -> String {
    match (&scan.capture, scan.from.first(), outcomes) {
        (Some(path), _, _) => format!(
            "crosstie scan --from {}    shows the capture, here or elsewhere",
            path.display()
        ),
        (None, Some(path), _) => format!(
            "crosstie scan --from {} --json    for programs",
            path.display()
        ),
        (None, None, [Outcome::Node(node)]) => {
            let name = node.reached.as_ref().map(|name| format!(" {name}"));
            format!(
                "crosstie scan{} --capture {}.tar.gz    keeps this, to share or to compare",
                name.unwrap_or_default(),
                node.host
            )
        }
        _ => "crosstie scan … --json    for programs".to_owned(),
    }
}
