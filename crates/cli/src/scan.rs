//! `crosstie scan`.

use std::process::ExitCode;

use clap::ColorChoice;
use crosstie_control::{
    FleetSnapshot, Found,
    scan::{Scanned, keep, scan},
};
use crosstie_model::word;
use crosstie_report::scan::{Outcome, view};
use serde_json::Value;

use crate::{args::Scan, console::Console, exit, output};

pub(crate) fn run(arguments: &Scan, colour: ColorChoice) -> anyhow::Result<ExitCode> {
    let console = Console::new(colour, arguments.json);
    let Found { spec, nodes } = arguments.targets.resolve(&console)?.find()?;
    let readings = nodes.read();
    if let Some(path) = &arguments.capture {
        keep(&readings, path)?;
    }
    let from_captures = !arguments.targets.from.is_empty();
    let scanned = scan(&FleetSnapshot::parse(readings), spec, from_captures);
    let failed = scanned.iter().any(|node| node.facts.is_none());
    if arguments.json {
        output::print(&json(&scanned, arguments.facts)?)?;
    } else {
        let outcomes: Vec<Outcome> = scanned.into_iter().map(|node| node.outcome).collect();
        let next = next(arguments, &outcomes);
        output::print(&view(&outcomes, &next, console.palette))?;
    }
    Ok(if failed {
        exit::tool_failed()
    } else {
        exit::CLEAN
    })
}

fn json(scanned: &[Scanned], with_facts: bool) -> anyhow::Result<String> {
    let mut nodes = Vec::new();
    for Scanned { outcome, facts } in scanned {
        let mut value = serde_json::to_value(outcome)?;
        if let (true, Some(facts), Value::Object(fields)) = (with_facts, facts, &mut value) {
            fields.insert("facts".to_owned(), serde_json::to_value(&**facts)?);
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
        let mut node = crosstie_report::scan::node(&crosstie_facts::facts(&raw), None);
        node.reached = Some("x; rm -rf ~".to_owned());
        let line = next(&scan, &[Outcome::Node(Box::new(node))]);
        let expected = "crosstie scan 'x; rm -rf ~' --capture '$(id); rm -rf ~.tar.gz'    ";
        assert!(line.starts_with(expected), "{line}");
    }
}
