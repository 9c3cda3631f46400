//! `crosstie scan`.

use std::{path::Path, process::ExitCode};

use anyhow::bail;
use clap::ColorChoice;
use crosstie_control::{FleetSnapshot, Found, NodeReading};
use crosstie_model::{Facts, word};
use crosstie_node::capture;
use crosstie_report::scan::{Outcome, node, view};
use serde_json::Value;

use crate::{args::Scan, console::Console, discover, exit, output};

pub(crate) fn run(scan: &Scan, colour: ColorChoice) -> anyhow::Result<ExitCode> {
    if scan.discover {
        return discover::run(scan, colour);
    }
    let targets = scan.targets.resolve(&Console::new(colour, scan.json))?;
    let Found { spec, nodes } = targets.find()?;
    let readings = nodes.read();
    if let Some(path) = &scan.capture {
        keep(&readings, path)?;
    }
    let from_capture = !scan.targets.from.is_empty();
    let snapshot = FleetSnapshot::parse(readings);
    let views = snapshot.each(move |facts| node(facts, spec.as_ref()));
    let scanned: Vec<(Outcome, Option<&Facts>)> = snapshot
        .nodes
        .iter()
        .zip(views)
        .map(|(read, view)| match view {
            Ok(mut node) => {
                if from_capture {
                    node.source = Some(read.name.clone());
                } else if read.name != "." {
                    node.reached = Some(read.name.clone());
                }
                let facts = read.facts.as_deref().ok();
                (Outcome::Node(Box::new(node)), facts)
            }
            Err(error) => {
                let (host, error) = (read.name.clone(), error.line());
                (Outcome::Failed { host, error }, None)
            }
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

/// A capture made by hand is cut down to the allow-list on its way through.
fn keep(readings: &[NodeReading], path: &Path) -> anyhow::Result<()> {
    let [NodeReading { raw: Ok(raw), .. }] = readings else {
        bail!(
            "--capture keeps one node, and {} were read",
            readings.iter().filter(|node| node.raw.is_ok()).count()
        );
    };
    capture::write(&crosstie_node::sanitised(raw), path)?;
    Ok(())
}

fn json(scanned: &[(Outcome, Option<&Facts>)], with_facts: bool) -> anyhow::Result<String> {
    let mut nodes = Vec::new();
    for (outcome, facts) in scanned {
        let mut value = serde_json::to_value(outcome)?;
        if let (true, Some(facts), Value::Object(fields)) = (with_facts, facts, &mut value) {
            fields.insert("facts".to_owned(), serde_json::to_value(facts)?);
        }
        nodes.push(value);
    }
    Ok(output::json(&nodes)?)
}

/// The command that a person would want now.
fn next(scan: &Scan, outcomes: &[Outcome]) -> String {
    match (&scan.capture, scan.targets.from.first(), outcomes) {
        (Some(path), _, _) => format!(
            "crosstie scan --from {}    shows the capture, here or elsewhere",
            word(&path.display().to_string())
        ),
        (None, Some(path), _) => format!(
            "crosstie scan --from {} --json    for programs",
            word(&path.display().to_string())
        ),
        (None, None, [Outcome::Node(node)]) => {
            let name = node.reached.as_ref().map(|name| format!(" {}", word(name)));
            format!(
                "crosstie scan{} --capture {}    keeps this, to share or to compare",
                name.unwrap_or_default(),
                word(&format!("{}.tar.gz", node.host))
            )
        }
        _ => "crosstie scan … --json    for programs".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // a test says what went wrong by panicking

    use clap::Parser;

    use super::*;
    use crate::args::{Arguments, Command};

    #[test]
    fn a_hosts_name_is_one_word_of_the_next_command() {
        let Command::Scan(scan) = Arguments::parse_from(["crosstie", "scan"]).command else {
            unreachable!()
        };
        let mut raw = crosstie_facts::Raw::default();
        raw.meta.host = "$(id); rm -rf ~".to_owned();
        let mut node = node(&crosstie_facts::facts(&raw), None);
        node.reached = Some("x; rm -rf ~".to_owned());
        let line = next(&scan, &[Outcome::Node(Box::new(node))]);
        let expected = "crosstie scan 'x; rm -rf ~' --capture '$(id); rm -rf ~.tar.gz'    ";
        assert!(line.starts_with(expected), "{line}");
    }
}
