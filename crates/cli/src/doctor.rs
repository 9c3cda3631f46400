//! `crosstie doctor`.

use std::{io, process::ExitCode, time::Duration};

use crosstie_control::{
    Found, Nodes, Verdict,
    doctor::{can_tell, examine, look, pair_captures, watch},
};
use crosstie_doctor::Selection;
use crosstie_report::{
    doctor::{Detail, markdown, view},
    document::Document,
};
use crosstie_terminal::{Colour, Console, WatchOutput};

use crate::{args::Doctor, exit, output};

/// Of the 3 seconds that `--quick` promises, what nodes get; the rest is for us.
const QUICK: Duration = Duration::from_millis(2500);

pub(crate) fn run(doctor: &Doctor, colour: Colour) -> anyhow::Result<ExitCode> {
    can_tell(&doctor.only)?;
    let console = Console::new(colour, doctor.json);
    let mut targets = doctor.targets.resolve(&console)?;
    targets.options.overall_timeout = doctor.quick.then_some(QUICK);
    let Found { spec, nodes, .. } = targets.find()?;
    let spec = spec.as_ref();
    let selection = Selection {
        only: &doctor.only,
        skip: &doctor.skip,
    };
    let detail = if doctor.all {
        Detail::All
    } else {
        Detail::Roots
    };
    let once = doctor.quick || doctor.interval == 0;
    let interval = Duration::from_secs(doctor.interval.into());
    let (now, before) = match nodes {
        Nodes::Captured(readings) => pair_captures(readings),
        Nodes::Live(fleet) if doctor.watch => {
            let mut output = WatchOutput::new(detail, doctor.json, &console, colour);
            let interval = interval.max(Duration::from_secs(1));
            let see = |diagnosis| output.see(diagnosis);
            return match watch(&fleet, spec, selection, interval, see) {
                Ok(never) => match never {},
                // Whoever read it has left.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(exit::CLEAN),
                Err(error) => Err(error.into()),
            };
        }
        Nodes::Live(fleet) => look(&fleet, (!once).then_some(interval)),
    };
    let diagnosis = examine(&now, &before, spec, selection);
    output::report(doctor.json, &Document::new(&diagnosis), || {
        if doctor.markdown {
            markdown(&diagnosis, env!("CARGO_PKG_VERSION"))
        } else {
            view(&diagnosis, detail, console.palette)
        }
    })?;
    Ok(exit::status(Verdict::of_diagnosis(&diagnosis)))
}
