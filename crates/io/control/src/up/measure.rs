//! What every port carries, quickly: only what was measured is proven.

use crosstie_model::{ClusterSpec, run::ProofMode};
use crosstie_report::{
    prove::{ProveReport, verdict},
    up::UpMeasurement,
};

use super::{
    UpHalt,
    run::{StageResult, UpRunner},
};
use crate::{
    CommandVerdict, ControlEvent, NodeFacts,
    prove::{self, PortSkipReason, ProveError, ProveOptions, SkippedPort, Unmeasurable},
};

impl UpRunner<'_> {
    /// Nobody's job is disturbed: where programs use the devices, nothing is measured.
    pub(super) fn measure(&mut self, spec: &ClusterSpec, nodes: &[NodeFacts]) -> StageResult<()> {
        if !self.options.measure {
            return Ok(self.leave_unmeasured("--no-measure".to_owned()));
        }
        let mut options = ProveOptions::usual(ProofMode::Quick);
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
        let is_in_use = |one: &SkippedPort| matches!(one.reason, PortSkipReason::InUse { .. });
        if prepared.refused.iter().any(is_in_use) {
            return Ok(self.leave_unmeasured(in_words(&prepared.refused)));
        }
        let before = prove::last_run(Some(spec));
        let measured = prepared.measure(&self.fleet, &options)?;
        let prove = ProveReport::new(&measured.run, before.as_ref());
        self.tell(ControlEvent::Measured(&prove));
        let summary = verdict(&prove).text().to_owned();
        let (has_faults, unmeasured) = (prove.has_faults(), prove.unmeasured());
        self.up.measured = Some(UpMeasurement {
            skipped: unmeasured.filter(|_| !has_faults),
            prove: Some(prove),
            run: Some(measured.path.display().to_string()),
            report: measured.page.map(|page| page.display().to_string()),
        });
        if has_faults {
            return Err(UpHalt::Stop {
                why: summary,
                verdict: CommandVerdict::Faults,
            });
        }
        Ok(((), summary))
    }

    fn leave_unmeasured(&mut self, why: String) -> ((), String) {
        let summary = format!("not measured: {why}");
        self.up.measured = Some(UpMeasurement::skipped(why));
        ((), summary)
    }
}

fn in_words(refused: &[SkippedPort]) -> String {
    let words: Vec<String> = refused.iter().map(ToString::to_string).collect();
    words.join("; ")
}
