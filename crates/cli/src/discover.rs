//! `crosstie scan --discover`.

use std::{process::ExitCode, time::Duration};

use anyhow::Context;
use clap::ColorChoice;
use crosstie_agent::InProcess;
use crosstie_control::COLLECT_TIMEOUT;
use crosstie_discover::{Place, Via, vendor};
use crosstie_facts::facts;
use crosstie_reach::discover::{Found, discover};
use crosstie_report::discover::{Candidate, Looked, view};

use crate::{args::Scan, exit, output};

/// Machines answer at once, and multicast DNS within a second; a lost datagram is asked for again in the next.
const LISTEN: Duration = Duration::from_secs(2);

pub(crate) fn run(scan: &Scan, colour: ColorChoice) -> anyhow::Result<ExitCode> {
    let raw = InProcess::default()
        .collect(COLLECT_TIMEOUT, &|_| ())
        .context("cannot read this machine's interfaces")?;
    let listen = LISTEN.min(Duration::from_secs(scan.targets.reach.ways.timeout.into()));
    let discovery = discover(&facts(&raw), &scan.interface, listen)?;
    let candidates: Vec<Candidate> = discovery.found.iter().map(candidate).collect();
    if scan.json {
        output::print(&output::json(&candidates)?)?;
        for note in &discovery.notes {
            tracing::warn!("not asked: {note}");
        }
    } else {
        let looked = Looked {
            asked: discovery.asked,
            greeted: discovery.greeted,
            notes: discovery.notes,
        };
        output::print(&view(&candidates, &looked, output::palette(colour)))?;
    }
    Ok(exit::CLEAN)
}

fn candidate(found: &Found) -> Candidate {
    let machine = &found.candidate;
    let addresses: Vec<String> = machine.places.iter().map(Place::to_string).collect();
    let name = machine.names.first().map(ToString::to_string);
    Candidate {
        host: name
            .or_else(|| addresses.first().cloned())
            .unwrap_or_default(),
        addresses,
        interfaces: machine.interfaces.iter().cloned().collect(),
        mac: machine.mac().map(ToString::to_string),
        vendor: machine.mac().and_then(vendor),
        ssh: found.banner.clone(),
        via: machine.via.iter().copied().map(Via::word).collect(),
        destination: found.destination.clone(),
    }
}
