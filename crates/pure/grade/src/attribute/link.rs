//! Counters of the link itself that grew while it was measured.

use std::collections::BTreeMap;

use crosstie_model::{
    Severity,
    run::{MeasuredEnd, Measurement},
};

use super::{FaultKind, MeasuredFault, part_names};
use crate::{counters, graded::GradedRun};

/// Bit errors a bit that the FEC of 50G and 100G lanes (RS 544,514) is made to mend.
const FEC_LIMIT: f64 = 2.4e-4;

pub(super) fn faults(graded: &GradedRun) -> Vec<MeasuredFault> {
    let mut errors: BTreeMap<&MeasuredEnd, BTreeMap<String, u64>> = BTreeMap::new();
    let mut directions: BTreeMap<&MeasuredEnd, Vec<(MeasuredEnd, MeasuredEnd)>> = BTreeMap::new();
    let mut bits: BTreeMap<&MeasuredEnd, (u64, u64)> = BTreeMap::new();
    for one in graded.cells.iter().flat_map(|cell| &cell.tried) {
        for grown in counters::link_errors(&one.counters) {
            let end = if grown.at_sender { &one.from } else { &one.to };
            let sum = errors
                .entry(end)
                .or_default()
                .entry(grown.name)
                .or_default();
            *sum = sum.saturating_add(grown.by);
            directions.entry(end).or_default().push(direction(one));
        }
        for (end, growth) in [(&one.from, &one.counters.from), (&one.to, &one.counters.to)] {
            if let Some((corrected, received)) = counters::corrected_bits(growth) {
                let sum = bits.entry(end).or_default();
                sum.0 = sum.0.saturating_add(corrected);
                sum.1 = sum.1.saturating_add(received);
            }
        }
    }
    let mut found: Vec<MeasuredFault> = errors
        .into_iter()
        .map(|(end, counters)| {
            let mut fault = MeasuredFault::new(
                FaultKind::LinkErrorsGrowing,
                Severity::Warning,
                part_names::end(end),
            );
            fault.hosts = vec![end.host.clone()];
            for (name, by) in counters {
                fault.saw(name, format!("+{by}"));
            }
            fault.directions = directions.remove(end).unwrap_or_default();
            fault.directions.sort();
            fault.directions.dedup();
            fault
        })
        .collect();
    found.extend(bits.into_iter().filter_map(|(end, (corrected, received))| {
        #[allow(clippy::cast_precision_loss)] // a rate
        let rate = corrected as f64 / received.max(1) as f64;
        (rate > FEC_LIMIT).then(|| {
            let mut fault = MeasuredFault::new(
                FaultKind::OpticsDegraded,
                Severity::Warning,
                part_names::end(end),
            );
            fault.hosts = vec![end.host.clone()];
            fault.saw("corrected bit errors a bit", format!("{rate:.1e}"));
            fault.saw("the link's FEC is made for", format!("{FEC_LIMIT:.1e}"));
            fault
        })
    }));
    found
}

fn direction(one: &Measurement) -> (MeasuredEnd, MeasuredEnd) {
    (one.from.clone(), one.to.clone())
}
