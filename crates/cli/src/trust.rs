//! `crosstie trust`.

use std::{ffi::OsString, io::Write, process::ExitCode};

use clap::ColorChoice;
use crosstie_control::trust::{TrustOptions, install, undo};
use crosstie_reach::{askpass, secret::Source};

use crate::{
    args::{lab_targets, trust::TrustArgs},
    console::Console,
    exit, lab, output,
};

pub(crate) fn run(arguments: &TrustArgs, colour: ColorChoice) -> anyhow::Result<ExitCode> {
    let console = Console::new(colour, arguments.json);
    let lab = arguments.lab.as_deref().map(lab::open).transpose()?;
    let mut fleet = arguments.connect.options(&console);
    fleet.offer.nodes.clone_from(&arguments.nodes);
    fleet.offer.lab.clone_from(&arguments.lab);
    let mut nodes = arguments.nodes.clone();
    if let Some(lab) = &lab {
        fleet.ssh_config = Some(lab.ssh_config());
        if !arguments.undo {
            nodes = lab_targets(lab).among(&nodes)?;
        }
    }
    let options = TrustOptions {
        nodes,
        dry_run: arguments.dry_run,
        forget: arguments.forget,
        fingerprints: arguments.fingerprint.clone(),
        password: match arguments.password_fd {
            Some(descriptor) => Source::Descriptor(descriptor),
            None => console.passwords(),
        },
        fleet,
    };
    let report = if arguments.undo {
        undo(&options, &*console)?
    } else {
        install(&options, &*console)?
    };
    if arguments.json {
        output::print(&output::json(&report)?)?;
    } else {
        output::print(&report.view(output::palette(colour)))?;
    }
    Ok(if report.failed() {
        exit::tool_failed()
    } else {
        exit::CLEAN
    })
}

/// ssh runs this program to ask for a password; then it is nothing else.
pub(crate) fn answer_ssh() -> Option<ExitCode> {
    let socket = std::env::var_os(askpass::SOCKET)?;
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let [question] = arguments.as_slice() else {
        return None;
    };
    let answer = askpass::ask(socket.as_ref(), &question.to_string_lossy()).unwrap_or_default();
    let said = std::io::stdout().write_all(&answer);
    // A failure is a refusal, and ssh goes on to the next way to log in.
    Some(if answer.is_empty() || said.is_err() {
        ExitCode::FAILURE
    } else {
        exit::CLEAN
    })
}
