//! `crosstie doctor`.

mod look;
mod watch;

use std::{process::ExitCode, thread, time::Duration};

use clap::ColorChoice;
use crosstie_doctor::{Diagnosis, NodeFindings, Patient, Selection, checks, diagnose};
use crosstie_model::{Severity, Spec};
use crosstie_report::doctor::{markdown, view};

use crate::{
    args::Doctor,
    exit, output,
    targets::{self, Found, Nodes},
};
use look::Look;

/// Of the 3 seconds that `--quick` promises, what nodes get; the rest is for us.
const QUICK: Duration = Duration::from_millis(2500);

pub(crate) fn run(doctor: &Doctor, colour: ColorChoice) -> anyhow::Result<ExitCode> {
    refuse_what_facts_cannot_tell(&doctor.only)?;
    let Found { spec, nodes } = targets::find(&doctor.targets, colour)?;
    let spec = spec.as_ref();
    let (now, before) = match nodes {
        Nodes::Captured(readings) => look::captured(readings),
        Nodes::Live(fleet) if doctor.watch => return watch::run(doctor, &fleet, spec, colour),
        Nodes::Live(fleet) if doctor.quick => (look::live(&fleet.within(QUICK)), Vec::new()),
        Nodes::Live(fleet) if doctor.interval == 0 => (look::live(&fleet), Vec::new()),
        Nodes::Live(fleet) => {
            let before = look::live(&fleet);
            thread::sleep(Duration::from_secs(doctor.interval.into()));
            (look::live(&fleet), before.into_iter().map(Some).collect())
        }
    };
    let diagnosis = examine(doctor, &now, &before, spec);
    let text = if doctor.json {
        output::json(&diagnosis)?
    } else if doctor.markdown {
        markdown(&diagnosis, env!("CARGO_PKG_VERSION"))
    } else {
        view(&diagnosis, output::palette(colour))
    };
    output::print(&text)?;
    Ok(status(&diagnosis))
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

fn status(diagnosis: &Diagnosis) -> ExitCode {
    let mut findings = diagnosis.findings();
    if diagnosis.nodes.iter().any(|node| node.error.is_some()) {
        exit::tool_failed()
    } else if findings.any(|finding| finding.severity == Severity::Fault) {
        exit::faults()
    } else {
        exit::CLEAN
    }
}

/// `before` is empty, or has the same nodes in the same order.
fn examine(
    doctor: &Doctor,
    now: &[Look],
    before: &[Option<Look>],
    spec: Option<&Spec>,
) -> Diagnosis {
    let earlier = |index: usize| before.get(index)?.as_ref()?.facts.as_ref().ok();
    let patients: Vec<Patient> = now
        .iter()
        .enumerate()
        .filter_map(|(index, look)| {
            Some(Patient {
                facts: look.facts.as_ref().ok()?,
                earlier: earlier(index),
                clock: look.clock,
            })
        })
        .collect();
    let selection = Selection {
        only: &doctor.only,
        skip: &doctor.skip,
    };
    let mut diagnosis = diagnose(&patients, spec, selection);
    for (index, look) in now.iter().enumerate() {
        if let Err(error) = &look.facts {
            let failed = NodeFindings {
                host: look.name.clone(),
                error: Some(error.clone()),
                findings: Vec::new(),
                notes: Vec::new(),
            };
            diagnosis.nodes.insert(index, failed);
        }
    }
    diagnosis
}
