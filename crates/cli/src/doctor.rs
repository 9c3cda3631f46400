//! `crosstie doctor`.

use std::{
    io,
    process::ExitCode,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use crosstie_control::{
    Fleet, Found, Nodes, Verdict,
    doctor::{self as control, examine, look, pair_captures},
};
use crosstie_doctor::{Diagnosis, Selection, checks};
use crosstie_model::Spec;
use crosstie_report::{
    doctor::{Detail, Watch, markdown, time_of_day, view},
    document::Document,
};
use crosstie_terminal::{Colour, Console, WatchScreen, print_to_reader};

use crate::{args::Doctor, exit, output};

/// Of the 3 seconds that `--quick` promises, what nodes get; the rest is for us.
const QUICK: Duration = Duration::from_millis(2500);

pub(crate) fn run(doctor: &Doctor, colour: Colour) -> anyhow::Result<ExitCode> {
    refuse_what_facts_cannot_tell(&doctor.only)?;
    let console = Console::new(colour, doctor.json);
    let mut targets = doctor.targets.resolve(&console)?;
    targets.options.overall_timeout = doctor.quick.then_some(QUICK);
    let Found { spec, nodes, .. } = targets.find()?;
    let spec = spec.as_ref();
    let once = doctor.quick || doctor.interval == 0;
    let interval = Duration::from_secs(doctor.interval.into());
    let (now, before) = match nodes {
        Nodes::Captured(readings) => pair_captures(readings),
        Nodes::Live(fleet) if doctor.watch => {
            return watch(doctor, &fleet, spec, &console, colour);
        }
        Nodes::Live(fleet) => look(&fleet, (!once).then_some(interval)),
    };
    let diagnosis = examine(&now, &before, spec, selection(doctor));
    output::report(doctor.json, &Document::new(&diagnosis), || {
        if doctor.markdown {
            markdown(&diagnosis, env!("CARGO_PKG_VERSION"))
        } else {
            view(&diagnosis, detail(doctor), console.palette)
        }
    })?;
    Ok(exit::status(Verdict::of_diagnosis(&diagnosis)))
}

/// The doctor stays: looks again and again, and says what changed. Ctrl-C ends it, and so does a reader who leaves.
fn watch(
    doctor: &Doctor,
    fleet: &Fleet,
    spec: Option<&Spec>,
    console: &Console,
    colour: Colour,
) -> anyhow::Result<ExitCode> {
    let interval = Duration::from_secs(doctor.interval.max(1).into());
    let look = |see: &mut dyn FnMut(Diagnosis) -> io::Result<()>| {
        control::watch(fleet, spec, selection(doctor), interval, see)
    };
    let ended = if doctor.json {
        look(&mut |diagnosis| {
            let line = serde_json::to_string(&Document::new(&diagnosis))?;
            print_to_reader(&format!("{line}\n"))
        })
    } else if colour.draws_screen() {
        let screen = WatchScreen::new(detail(doctor), console.palette);
        look(&mut |diagnosis| {
            console.stop_drawing();
            screen.see(diagnosis);
            Ok(())
        })
    } else {
        let mut watch = Watch::new(detail(doctor), console.palette);
        look(&mut |diagnosis| {
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            let time = time_of_day(now.map_or(0, |since| since.as_secs()));
            print_to_reader(&watch.see(diagnosis, &time))
        })
    };
    match ended {
        Ok(never) => match never {},
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(exit::CLEAN),
        Err(error) => Err(error.into()),
    }
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
