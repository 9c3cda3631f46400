//! `crosstie up`.

use std::process::ExitCode;

use clap::ColorChoice;
use crosstie_control::{
    Consent,
    apply::ApplyOptions,
    up::{Halt, UpOptions, up},
};
use crosstie_report::{
    change::{Changes, Outcome},
    offer::Verb,
    up::{Up, UpStage, screen},
};

use crate::{args, console::Console, exit, output};

/// Seconds to listen for emulated nodes, whose agents may begin far apart.
const LISTEN_LAB: u32 = 12;

pub(crate) fn run(arguments: &args::up::Up, colour: ColorChoice) -> anyhow::Result<ExitCode> {
    let console = Console::new(colour, arguments.json);
    let members = &arguments.members;
    let targets = members.targets(&arguments.root).resolve(&console)?;
    let options = UpOptions {
        file: members.output.clone(),
        name: members.lab.clone(),
        listen: members.lab.is_some().then_some(LISTEN_LAB),
        apply: ApplyOptions {
            guard: arguments.guard,
            force: arguments.force,
            canary: None,
        },
    };
    let consent = Consent {
        yes: arguments.yes,
        prompter: &*console,
    };
    let mut run = up(&targets, &options, &consent)?;
    commands(&mut run.up, arguments);
    if run.ended.is_err() {
        console.leave_board();
    }
    let code = match run.ended {
        Ok(()) => exit::CLEAN,
        Err(Halt::Stop { verdict, .. }) => exit::status(verdict),
        Err(Halt::Error(error)) => {
            let error = anyhow::Error::from(error);
            // The rest is on the last screen.
            if error.chain().len() > 1 {
                output::complain(&error);
            }
            exit::tool_failed()
        }
    };
    if arguments.json {
        output::print(&output::json(&run.up)?)?;
    } else {
        let home = std::env::var("HOME").ok();
        output::print(&screen(&run.up, home.as_deref(), console.palette))?;
    }
    console.finish()?;
    Ok(code)
}

/// What undoes it, and what comes next.
fn commands(up: &mut Up, arguments: &args::up::Up) {
    let offer = arguments.same_nodes();
    let mut outcomes = up.changes.iter().map(|change| change.outcome);
    if outcomes.any(|outcome| outcome == Outcome::Confirmed) {
        up.undo = Some(offer.command(Verb::Rollback).to_string());
    }
    let half = up.run.as_ref().and_then(|run| {
        let changes = Changes::new(up.changes.clone());
        changes.half_configured(&arguments.again(), &arguments.undo(run))
    });
    if let Some(half) = half {
        up.undo = Some(half.undo.clone());
        up.next = Some(half.again.clone());
        up.half_configured = Some(half);
        return;
    }
    let stopping = up.findings.iter().find(|seen| seen.stops());
    up.next = match up.stopped.as_ref().map(|stopped| stopped.stage) {
        Some(UpStage::Doctor) => {
            stopping.map(|seen| format!("crosstie explain {}", seen.finding.id))
        }
        Some(UpStage::Apply) => Some(offer.command(Verb::Status).to_string()),
        Some(UpStage::Proof) => Some(offer.command(Verb::Doctor).as_root().to_string()),
        Some(_) => None,
        None => {
            let doctor = offer.command(Verb::Doctor).flag("watch", true);
            Some(doctor.as_root().to_string())
        }
    };
}
