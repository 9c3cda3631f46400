//! `crosstie init`.

use std::process::ExitCode;

use clap::ColorChoice;
use crosstie_control::{
    FleetSnapshot,
    init::{Discovered, InitOptions, discover, members, no_root},
    read_existing,
};
use crosstie_report::{
    init::drawing,
    offer::{Offer, Verb},
    text::printable,
};

use crate::{args::Init, console::Console, exit, output};

pub(crate) fn run(init: &Init, colour: ColorChoice) -> anyhow::Result<ExitCode> {
    let existing = read_existing(&init.members.output)?;
    let spec = existing.as_ref().map(|existing| &existing.spec);
    let targets = init.members.targets(&init.root);
    let offer = targets.offer();
    let targets = targets.resolve(&Console::new(colour, init.json))?;
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
    let discovered = discover(&fleet, &nodes, &options)?;
    let text = if init.json {
        output::json(&discovered.found)?
    } else {
        view(init.dry_run, &discovered, offer, colour)
    };
    output::print(&text)?;
    Ok(exit::CLEAN)
}

fn view(dry_run: bool, discovered: &Discovered, mut offer: Offer, colour: ColorChoice) -> String {
    let (found, merged) = (&discovered.found, &discovered.merged);
    let (stations, wiring) = (&discovered.stations, &discovered.wiring);
    let text = drawing(found, stations, wiring, output::palette(colour));
    let path = printable(&found.file);
    let shown: Vec<String> = merged.text.lines().map(printable).collect();
    if offer.lab.is_none() {
        // They are in the file now.
        offer.nodes.clear();
    }
    let next = format!("Next: {}", offer.command(Verb::Plan));
    let last = match (dry_run, found.written) {
        (true, _) => format!("{path} would be:\n\n{}", shown.join("\n")),
        (false, true) => format!(
            "Wrote {path}: {}\n\n{next}",
            printable(&merged.added.join("; ")),
        ),
        (false, false) => format!("{path} has all of it already.\n\n{next}"),
    };
    format!("{text}\n{last}\n")
}
