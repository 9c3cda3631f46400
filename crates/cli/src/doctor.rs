//! `crosstie doctor`.

use std::{io, process::ExitCode, time::Duration};

use crosstie_control::{
    CommandVerdict, ResolvedTargets, TargetNodes,
    doctor::{examine, pair_captures, read_nodes, require_runnable, watch},
};
use crosstie_doctor::CheckSelection;
use crosstie_report::{
    doctor::{FindingDetail, markdown, view},
    document::JsonDocument,
};
use crosstie_terminal::{ColourChoice, TerminalConsole, WatchOutput};

use crate::{args::DoctorArgs, exit, output};

/// Of the 3 seconds that `--quick` promises, what nodes get; the rest is for us.
const QUICK_TIMEOUT: Duration = Duration::from_millis(2500);

pub(crate) fn run(doctor: &DoctorArgs, colour: ColourChoice) -> anyhow::Result<ExitCode> {
    require_runnable(&doctor.only)?;
    let console = TerminalConsole::new(colour, doctor.json);
    let mut targets = doctor.targets.resolve(&console)?;
    targets.options.overall_timeout = doctor.quick.then_some(QUICK_TIMEOUT);
    let ResolvedTargets { spec, file, nodes } = targets.find()?;
    let file = file.map_or_else(
        || "the lab's own cluster file".to_owned(),
        |path| path.display().to_string(),
    );
    let spec = spec.as_ref();
    let selection = CheckSelection {
        only: &doctor.only,
        skip: &doctor.skip,
    };
    let detail = if doctor.all {
        FindingDetail::All
    } else {
        FindingDetail::Roots
    };
    let once = doctor.quick || doctor.interval == 0;
    let interval = Duration::from_secs(doctor.interval.into());
    let (now, before) = match nodes {
        TargetNodes::Captured(readings) => pair_captures(readings),
        TargetNodes::Live(fleet) if doctor.watch => {
            let mut output = WatchOutput::new(detail, doctor.json, &console, colour);
            let interval = interval.max(Duration::from_secs(1));
            let (json, offer) = (doctor.json, targets.options.offer.clone());
            let see = |diagnosis| {
                output.see(if json {
                    diagnosis
                } else {
                    offer.completed_diagnosis(diagnosis, &file)
                })
            };
            return match watch(&fleet, spec, selection, interval, see) {
                Ok(never) => match never {},
                // Whoever read it has left.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(exit::CLEAN),
                Err(error) => Err(error.into()),
            };
        }
        TargetNodes::Live(fleet) => read_nodes(&fleet, (!once).then_some(interval)),
    };
    let diagnosis = examine(&now, &before, spec, selection);
    output::report(doctor.json, &JsonDocument::new(&diagnosis), || {
        if doctor.markdown {
            markdown(&diagnosis, env!("CARGO_PKG_VERSION"))
        } else {
            let offer = &targets.options.offer;
            let told = offer.completed_diagnosis(diagnosis.clone(), &file);
            view(&told, detail, console.palette)
        }
    })?;
    Ok(exit::status(CommandVerdict::of_diagnosis(&diagnosis)))
}
