//! `crosstie scan --discover`.

use std::{process::ExitCode, time::Duration};

use clap::ColorChoice;
use crosstie_control::discover::neighbours;
use crosstie_report::discover::view;

use crate::{args::Scan, exit, output};

pub(crate) fn run(scan: &Scan, colour: ColorChoice) -> anyhow::Result<ExitCode> {
    let timeout = Duration::from_secs(scan.targets.reach.connect.timeout.into());
    let (candidates, looked) = neighbours(&scan.interface, timeout)?;
    if scan.json {
        output::print(&output::json(&candidates)?)?;
        for note in &looked.notes {
            tracing::warn!("not asked: {note}");
        }
    } else {
        let offer = scan.targets.offer();
        let text = view(&candidates, &looked, &offer, output::palette(colour));
        output::print(&text)?;
    }
    Ok(exit::CLEAN)
}
