//! `crosstie trust`.

use std::process::ExitCode;

use crosstie_control::{
    CommandVerdict,
    trust::{TrustOptions, install, undo},
};
use crosstie_reach::secret::PasswordSource;
use crosstie_report::document::JsonDocument;
use crosstie_terminal::{ColourChoice, TerminalConsole};

use crate::{
    args::{lab_targets, trust::TrustArgs},
    exit, lab, output,
};

pub(crate) fn run(arguments: &TrustArgs, colour: ColourChoice) -> anyhow::Result<ExitCode> {
    let console = TerminalConsole::new(colour, arguments.json);
    let lab = arguments.lab.as_deref().map(lab::open).transpose()?;
    let mut fleet = arguments.connect.options(&console);
    fleet.offer.nodes.clone_from(&arguments.nodes);
    fleet.offer.lab.clone_from(&arguments.lab);
    let mut nodes = arguments.nodes.clone();
    if let Some(lab) = &lab {
        fleet.ssh_config = Some(lab.ssh_config());
        if !arguments.undo {
            nodes = lab_targets(lab).selected(&nodes)?;
        }
    }
    let options = TrustOptions {
        nodes,
        dry_run: arguments.dry_run,
        forget: arguments.forget,
        fingerprints: arguments.fingerprint.clone(),
        password: match arguments.password_fd {
            Some(descriptor) => PasswordSource::Descriptor(descriptor),
            None => console.passwords(),
        },
        fleet,
    };
    let report = if arguments.undo {
        undo(&options, &*console)?
    } else {
        install(&options, &*console)?
    };
    output::report(arguments.json, &JsonDocument::new(&report), || {
        report.view(colour.palette())
    })?;
    Ok(exit::status(CommandVerdict::of_trust(&report)))
}
