//! `crosstie doctor`.

mod watch;

use std::{process::ExitCode, thread, time::Duration};

use clap::ColorChoice;
use crosstie_control::{
    FleetSnapshot, Found, NodeSnapshot, Nodes, Verdict,
    doctor::{examine, pair_captures},
};
use crosstie_doctor::{Selection, checks};
use crosstie_report::doctor::{Detail, markdown, view};

use crate::{args::Doctor, console::Console, exit, output};

/// Of the 3 seconds that `--quick` promises, what nodes get; the rest is for us.
const QUICK: Duration = Duration::from_millis(2500);

pub(crate) fn run(doctor: &Doctor, colour: ColorChoice) -> anyhow::Result<ExitCode> {
    refuse_what_facts_cannot_tell(&doctor.only)?;
    let mut targets = doctor.targets.resolve(&Console::new(colour, doctor.json))?;
    targets.options.overall_timeout = doctor.quick.then_some(QUICK);
    let Found { spec, nodes, .. } = targets.find()?;
    let spec = spec.as_ref();
    let (now, before) = match nodes {
        Nodes::Captured(readings) => pair_captures(readings),
        Nodes::Live(fleet) if doctor.watch => return watch::run(doctor, &fleet, spec, colour),
        Nodes::Live(fleet) if doctor.quick || doctor.interval == 0 => {
            (FleetSnapshot::take(&fleet), Vec::new())
        }
        Nodes::Live(fleet) => {
            let before = FleetSnapshot::take(&fleet);
            thread::sleep(Duration::from_secs(doctor.interval.into()));
            (FleetSnapshot::take(&fleet), earlier(before))
        }
    };
    let diagnosis = examine(&now, &before, spec, selection(doctor));
    let text = if doctor.json {
        output::json(&diagnosis)?
    } else if doctor.markdown {
        markdown(&diagnosis, env!("CARGO_PKG_VERSION"))
    } else {
        view(&diagnosis, detail(doctor), output::palette(colour))
    };
    output::print(&text)?;
    Ok(exit::status(Verdict::of_diagnosis(&diagnosis)))
}

fn detail(doctor: &Doctor) -> Detail {
    if doctor.all {
        Detail::All
    } else {
        Detail::Roots
    }
}

fn selection(doctor: &Doctor) -> Selection<'_> {
    Selection {
        only: &doctor.only,
        skip: &doctor.skip,
    }
}

fn earlier(snapshot: FleetSnapshot) -> Vec<Option<NodeSnapshot>> {
    snapshot.nodes.into_iter().map(Some).collect()
}

/// Whoever asks for one check by its name would take silence for health.
fn refuse_what_facts_cannot_tell(only: &[String]) -> anyhow::Result<()> {
    let checks = only.iter().filter_map(|id| checks::find(id));
    let causes: Vec<String> = checks
        .filter_map(|check| Some(format!("{}: {}", check.id, check.needs()?.words())))
        .collect();
    if causes.is_empty() {
        return Ok(());
    }
    Err(anyhow::Error::msg(causes.join("\n")).context("the doctor cannot look for this"))
}
