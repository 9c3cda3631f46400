//! What every port carries, quickly: only what was measured is proven.

use crosstie_model::{Spec, run::Mode};
use crosstie_report::{
    prove::{Prove, verdict},
    up::Measured,
};

use super::{
    Halt,
    run::{Ended, Run},
};
use crate::{
    Event, NodeFacts, Verdict,
    prove::{self, ProveError, ProveOptions, RefusalReason, Refused, Unmeasurable},
};

impl Run<'_> {
    /// Nobody's job is disturbed: where programs use the devices, nothing is measured.
    pub(super) fn measure(&mut self, spec: &Spec, nodes: &[NodeFacts]) -> Ended<()> {
        if !self.options.measure {
            return Ok(self.leave_unmeasured("--no-measure".to_owned()));
        }
        let mut options = ProveOptions::usual(Mode::Quick);
        options.report = self.options.report;
        let prepared = match prove::prepare(nodes, Some(spec), &options) {
            Ok(prepared) => prepared,
            Err(ProveError::Unmeasurable(Unmeasurable::Refused(refused))) => {
                return Ok(self.leave_unmeasured(in_words(&refused)));
            }
            Err(ProveError::Unmeasurable(why @ Unmeasurable::NoRail)) => {
                return Ok(self.leave_unmeasured(why.to_string()));
            }
            Err(error) => return Err(error.into()),
        };
        let is_in_use = |one: &Refused| matches!(one.reason, RefusalReason::InUse { .. });
        if prepared.refused.iter().any(is_in_use) {
            return Ok(self.leave_unmeasured(in_words(&prepared.refused)));
        }
        let before = prove::last_run(Some(spec));
        let measured = prepared.measure(&self.fleet, &options)?;
        let prove = Prove::new(&measured.run, before.as_ref());
        self.tell(Event::Measured(&prove));
        let summary = verdict(&prove).text().to_owned();
        let (has_faults, unmeasured) = (prove.has_faults(), prove.unmeasured());
        self.up.measured = Some(Measured {
            skipped: unmeasured.filter(|_| !has_faults),
            prove: Some(prove),
            run: Some(measured.path.display().to_string()),
            report: measured.page.map(|page| page.display().to_string()),
        });
        if has_faults {
            return Err(Halt::Stop {
                why: summary,
                verdict: Verdict::Faults,
            });
        }
        Ok(((), summary))
    }

    fn leave_unmeasured(&mut self, why: String) -> ((), String) {
        let summary = format!("not measured: {why}");
        self.up.measured = Some(Measured::skipped(why));
        ((), summary)
    }
}

fn in_words(refused: &[Refused]) -> String {
    let words: Vec<String> = refused.iter().map(ToString::to_string).collect();
    words.join("; ")
}
