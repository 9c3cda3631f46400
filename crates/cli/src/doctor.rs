//! `crosstie doctor`.

mod watch;

use std::{num::NonZeroUsize, process::ExitCode, thread, time::Duration};

use clap::ColorChoice;
use crosstie_doctor::{Diagnosis, NodeFindings, Patient, Selection, diagnose};
use crosstie_facts::facts;
use crosstie_model::{Facts, Severity, Spec};
use crosstie_report::doctor::{markdown, view};

use crate::{
    args::Doctor,
    exit, output,
    targets::{self, Found, Nodes, Reading},
};

/// Of the 3 seconds that `--quick` promises, what nodes get; the rest is for us.
const QUICK: Duration = Duration::from_millis(2500);

/// The facts of one node, or why there are none.
type Looked = (String, Result<Facts, String>);

pub(crate) fn run(doctor: &Doctor, colour: ColorChoice) -> anyhow::Result<ExitCode> {
    let Found { spec, nodes } = targets::find(&doctor.targets, colour)?;
    let spec = spec.as_ref();
    let diagnosis = match nodes {
        Nodes::Captured(readings) => captured(doctor, readings, spec),
        Nodes::Live(fleet) if doctor.watch => return watch::run(doctor, &fleet, spec, colour),
        Nodes::Live(fleet) if doctor.quick => {
            let fleet = fleet.within(QUICK);
            examine(doctor, &looked(fleet.read()), None, spec)
        }
        Nodes::Live(fleet) if doctor.interval == 0 => {
            examine(doctor, &looked(fleet.read()), None, spec)
        }
        Nodes::Live(fleet) => {
            let before = looked(fleet.read());
            thread::sleep(Duration::from_secs(doctor.interval.into()));
            examine(doctor, &looked(fleet.read()), Some(&before), spec)
        }
    };
    let text = if doctor.json {
        format!("{}\n", serde_json::to_string_pretty(&diagnosis)?)
    } else if doctor.markdown {
        markdown(&diagnosis, env!("CARGO_PKG_VERSION"))
    } else {
        view(&diagnosis, output::palette(colour))
    };
    output::print(&text)?;
    Ok(status(&diagnosis))
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

/// Parses on every core: a thousand captures are a few seconds' work for one.
fn looked(readings: Vec<Reading>) -> Vec<Looked> {
    let workers = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let share = readings.len().div_ceil(workers).max(1);
    let of = |part: &[Reading]| -> Vec<Looked> {
        let look =
            |(name, raw): &Reading| (name.clone(), raw.as_ref().map(facts).map_err(Clone::clone));
        part.iter().map(look).collect()
    };
    thread::scope(|scope| {
        let mut parts = readings.chunks(share);
        let first = parts.next().unwrap_or_default();
        let others: Vec<_> = parts.map(|part| scope.spawn(move || of(part))).collect();
        let mut looked = of(first);
        for other in others {
            match other.join() {
                Ok(part) => looked.extend(part),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        looked
    })
}

/// Two captures of one node since one boot are two looks at it: the counters of the first are the earlier ones.
fn captured(doctor: &Doctor, readings: Vec<Reading>, spec: Option<&Spec>) -> Diagnosis {
    let mut readings = readings;
    readings.sort_by(|(_, a), (_, b)| match (a, b) {
        (Ok(a), Ok(b)) => (&a.meta.host, &a.meta.captured).cmp(&(&b.meta.host, &b.meta.captured)),
        _ => a.is_err().cmp(&b.is_err()),
    });
    let mut now: Vec<Looked> = Vec::new();
    let mut before: Vec<Looked> = Vec::new();
    for (name, facts) in looked(readings) {
        let again = matches!((now.last(), &facts), (Some((_, Ok(last))), Ok(facts)) if is_same_boot(last, facts));
        if again && let Some(earlier) = now.pop() {
            before.pop();
            before.push(earlier);
        } else {
            before.push((name.clone(), Err(String::new())));
        }
        now.push((name, facts));
    }
    examine(doctor, &now, Some(&before), spec)
}

fn is_same_boot(a: &Facts, b: &Facts) -> bool {
    let identity = |facts: &Facts| {
        Some((
            facts.host.boot_id.known()?.clone(),
            facts.host.machine_id.known()?.clone(),
            facts.host.name.clone(),
        ))
    };
    identity(a).is_some_and(|first| identity(b) == Some(first))
}

/// `before` has the same nodes in the same order.
fn examine(
    doctor: &Doctor,
    now: &[Looked],
    before: Option<&[Looked]>,
    spec: Option<&Spec>,
) -> Diagnosis {
    let earlier = |index: usize| before?.get(index)?.1.as_ref().ok();
    let patients: Vec<Patient> = now
        .iter()
        .enumerate()
        .filter_map(|(index, (_, facts))| {
            Some(Patient {
                facts: facts.as_ref().ok()?,
                earlier: earlier(index),
            })
        })
        .collect();
    let selection = Selection {
        only: &doctor.only,
        skip: &doctor.skip,
    };
    let mut diagnosis = diagnose(&patients, spec, selection);
    for (index, (name, facts)) in now.iter().enumerate() {
        if let Err(error) = facts {
            let failed = NodeFindings {
                host: name.clone(),
                error: Some(error.clone()),
                findings: Vec::new(),
                notes: Vec::new(),
            };
            diagnosis.nodes.insert(index, failed);
        }
    }
    diagnosis
}
