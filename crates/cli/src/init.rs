//! `crosstie init`.

use std::process::ExitCode;

use crosstie_control::{
    FleetSnapshot,
    init::{CablingDiscovery, InitOptions, discover, members, no_root},
    read_existing,
};
use crosstie_report::{
    document::JsonDocument,
    init::{drawing, view},
};
use crosstie_terminal::{ColourChoice, TerminalConsole};

use crate::{args::InitArgs, exit, output};

pub(crate) fn run(init: &InitArgs, colour: ColourChoice) -> anyhow::Result<ExitCode> {
    let existing = read_existing(&init.members.output)?;
    let spec = existing.as_ref().map(|existing| &existing.spec);
    let targets = init.members.targets(&init.root);
    let offer = targets.offer();
    let targets = targets.resolve(&TerminalConsole::new(colour, init.json))?;
    let fleet = members(&targets, spec)?;
    // A cluster file is about all of them.
    let nodes = FleetSnapshot::take(&fleet).as_root(no_root)?;
    let options = InitOptions {
        file: &init.members.output,
        existing: existing.as_ref(),
        name: init.members.lab.as_deref(),
        dry_run: init.dry_run,
        seconds: init.listen,
    };
    let CablingDiscovery {
        found,
        merged,
        surveys,
        wiring,
    } = discover(&fleet, &nodes, &options)?;
    output::report(init.json, &JsonDocument::new(&found), || {
        let drawing = drawing(&found, &surveys, &wiring, colour.palette());
        let preview = init.dry_run.then_some(merged.text.as_str());
        view(&found, &drawing, preview, &offer)
    })?;
    Ok(exit::CLEAN)
}
