//! `crosstie scan`.

use std::{path::Path, process::ExitCode};

use clap::ColorChoice;
use crosstie_control::{
    FleetSnapshot, Found,
    scan::{Scanned, keep, scan},
};
use crosstie_model::word;
use crosstie_report::{
    offer::{Offer, Verb},
    scan::{Hints, Outcome, view},
};
use serde_json::Value;

use crate::{args::Scan, console::Console, exit, output};

pub(crate) fn run(arguments: &Scan, colour: ColorChoice) -> anyhow::Result<ExitCode> {
    let console = Console::new(colour, arguments.json);
    let Found { spec, nodes, .. } = arguments.targets.resolve(&console)?.find()?;
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
        let offer = arguments.targets.offer();
        let as_root = offer.command(Verb::Scan).as_root().to_string();
        let hints = Hints {
            next: next(arguments, &offer, failed),
            // Of captures it is too late.
            as_root: (!from_captures).then_some(as_root),
        };
        output::print(&view(&outcomes, &hints, console.palette))?;
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
fn next(scan: &Scan, offer: &Offer, failed: bool) -> Option<String> {
    let path = |path: &Path| word(&path.display().to_string()).into_owned();
    match (&scan.capture, scan.targets.from.first()) {
        (Some(capture), _) => Some(format!(
            "crosstie scan --from {}    shows the capture, here or elsewhere",
            path(capture)
        )),
        (None, Some(_)) => {
            let from = scan.targets.from.iter();
            let from = from.map(|from| format!(" --from {}", path(from)));
            let from: String = from.collect();
            Some(format!("crosstie doctor{from}    tells what is wrong"))
        }
        (None, None) if failed => None,
        (None, None) => {
            let doctor = offer.command(Verb::Doctor);
            Some(format!("{doctor}    tells what is wrong"))
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Arguments, Command};

    #[test]
    fn names_are_words_of_the_next_command() {
        let command = |arguments: &[&str]| {
            let arguments = ["crosstie", "scan"].iter().chain(arguments);
            let Command::Scan(scan) = Arguments::parse_from(arguments).command else {
                unreachable!()
            };
            let next = next(&scan, &scan.targets.offer(), false).unwrap_or_default();
            let (command, _) = next.split_once("    ").unwrap_or_default();
            command.to_owned()
        };
        assert_eq!(
            command(&["x; rm -rf ~", "--sudo", "--ssh-config", "my ssh"]),
            "crosstie doctor 'x; rm -rf ~' --sudo --ssh-config 'my ssh'"
        );
        assert_eq!(
            command(&["--capture", "$(id).tar.gz"]),
            "crosstie scan --from '$(id).tar.gz'"
        );
        assert_eq!(
            command(&["--from", "a b", "--from", "c"]),
            "crosstie doctor --from 'a b' --from c"
        );
    }
}
