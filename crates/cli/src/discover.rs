//! `crosstie scan --discover`.

use std::{process::ExitCode, time::Duration};

use crosstie_control::discover::neighbours;
use crosstie_report::{discover::view, text::printable};
use crosstie_terminal::ColourChoice;

use crate::{args::ScanArgs, exit, output};

pub(crate) fn run(scan: &ScanArgs, colour: ColourChoice) -> anyhow::Result<ExitCode> {
    let timeout = Duration::from_secs(scan.targets.reach.connect.timeout.into());
    let (candidates, looked) = neighbours(&scan.interface, timeout)?;
    output::report(scan.json, &candidates, || {
        let offer = scan.targets.offer();
        view(&candidates, &looked, &offer, colour.palette())
    })?;
    for note in looked.notes.iter().filter(|_| scan.json) {
        output::print_sentences(&format!("note: not asked: {}", printable(note)));
    }
    Ok(exit::CLEAN)
}
