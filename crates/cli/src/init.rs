//! `crosstie init`.

mod discover;
mod file;

use std::process::ExitCode;

use anyhow::bail;
use clap::ColorChoice;
use crosstie_model::{Spec, word};
use crosstie_node::cabling::CablingError;
use crosstie_report::text::printable;

use crate::{
    args::{Init, Members, Root},
    exit, lab,
    look::look,
    nodes::Fleet,
    output,
    targets::destinations,
};

pub(crate) use discover::{Discovered, Place, discover};
pub(crate) use file::{read, write};

pub(crate) fn run(init: &Init, colour: ColorChoice) -> anyhow::Result<ExitCode> {
    let members = &init.members;
    let existing = file::read(&members.output)?;
    let spec = existing.as_ref().map(|existing| &existing.spec);
    let fleet = fleet(members, &init.root, spec, colour)?;
    // A cluster file is about all of them.
    let Some(looked) = look(&fleet, no_root)? else {
        return Ok(exit::tool_failed());
    };
    let place = Place {
        path: &members.output,
        existing: existing.as_ref(),
        name: members.lab.as_deref().unwrap_or(NAME),
        dry_run: init.dry_run,
    };
    let Some(discovered) = discover(&fleet, &looked, &place, init.listen)? else {
        return Ok(exit::tool_failed());
    };
    let text = if init.json {
        output::json(&discovered.found)?
    } else {
        view(init.dry_run, &discovered, colour)
    };
    output::print(&text)?;
    Ok(exit::CLEAN)
}

/// Of a cluster that nobody has named.
pub(crate) const NAME: &str = "cluster";

pub(crate) fn no_root(why: String) -> String {
    CablingError::NotRoot { why }.to_string()
}

/// The nodes that are named, a lab's, or those of the cluster file. Frames of our own take root.
pub(crate) fn fleet(
    members: &Members,
    root: &Root,
    spec: Option<&Spec>,
    colour: ColorChoice,
) -> anyhow::Result<Fleet> {
    let reach = root.reach();
    let (names, reach) = match (&members.lab, spec) {
        (Some(lab), _) => {
            let lab = lab::cluster(lab)?;
            (lab.nodes.clone(), lab.reach(&reach))
        }
        (None, _) if !members.nodes.is_empty() => (members.nodes.clone(), reach),
        (None, Some(spec)) if !spec.nodes.is_empty() => (destinations(spec), reach),
        (None, _) => bail!(
            "name the nodes, like `. spark-b`    (`.` is this machine, others as ssh takes them)"
        ),
    };
    Fleet::new(names, &reach, colour)
}

fn view(dry_run: bool, discovered: &Discovered, colour: ColorChoice) -> String {
    let text = discovered.view(output::palette(colour));
    let (found, merged) = (&discovered.found, &discovered.merged);
    let path = printable(&found.file);
    let shown: Vec<String> = merged.text.lines().map(printable).collect();
    let last = match (dry_run, found.written) {
        (true, _) => format!("{path} would be:\n\n{}", shown.join("\n")),
        (false, true) => format!(
            "Wrote {path}: {}\n\nNext: crosstie plan --cluster {}",
            printable(&merged.added.join("; ")),
            word(&found.file)
        ),
        (false, false) => format!("{path} has all of it already."),
    };
    format!("{text}\n{last}\n")
}
