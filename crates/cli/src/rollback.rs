//! `crosstie rollback` and `crosstie uninstall`.

use std::process::ExitCode;

use crosstie_control::{
    Consent, Targets,
    apply::{self, UndoError, UndoOptions},
};
use crosstie_report::change::Changes;
use crosstie_terminal::{Colour, Console};

use crate::{
    args::change::{Rollback, Undo, Uninstall},
    changes::report,
};

type Work = fn(&Targets, &UndoOptions, &Consent) -> Result<Changes, UndoError>;

pub(crate) fn run(arguments: &Rollback, colour: Colour) -> anyhow::Result<ExitCode> {
    let run = arguments.run.clone();
    undo(apply::rollback, run, &arguments.undo, colour)
}

pub(crate) fn uninstall(arguments: &Uninstall, colour: Colour) -> anyhow::Result<ExitCode> {
    undo(apply::uninstall, None, &arguments.undo, colour)
}

fn undo(work: Work, run: Option<String>, undo: &Undo, colour: Colour) -> anyhow::Result<ExitCode> {
    let console = Console::new(colour, undo.json);
    let targets = undo.chosen.targets(undo.root.reach()).resolve(&console)?;
    let options = UndoOptions {
        run,
        force: undo.force,
    };
    let consent = Consent {
        yes: undo.yes,
        prompter: &*console,
    };
    let changes = work(&targets, &options, &consent)?;
    report(&changes, true, &console)
}
