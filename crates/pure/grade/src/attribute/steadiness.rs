//! Bandwidth that comes and goes: an average hides it.

use crosstie_model::{
    Severity,
    run::{BandwidthFigures, Measurement, TestConcurrency},
};

use super::{FaultKind, MeasuredFault, part_names};
use crate::{graded::GradedRun, statistics::median};

/// A window below this share of the median is a dip.
const DIP_SHARE: f64 = 0.5;
/// With fewer windows one of them says nothing.
const LEAST_WINDOWS: usize = 5;

pub(super) fn faults(graded: &GradedRun) -> Vec<MeasuredFault> {
    let tried = graded.cells.iter().flat_map(|cell| &cell.tried);
    // Where several share a link on purpose, they take turns.
    let alone = tried.filter(|one| {
        matches!(
            one.phase,
            TestConcurrency::Solo | TestConcurrency::Round | TestConcurrency::Soak
        ) && one.kind.is_rdma()
    });
    let alone = alone.filter(|one| !graded.is_as_fast_as_its_processor(one));
    let unsteady = alone.filter_map(|one| of_measurement(one, one.bandwidth()?));
    unsteady.chain(broken_off(graded)).collect()
}

/// A test of a soak that gave no figure, whatever those before and after it gave.
#[allow(clippy::cast_precision_loss)] // seconds of a run
fn broken_off(graded: &GradedRun) -> Vec<MeasuredFault> {
    let all = &graded.run.measurements;
    let is_lost = |host: &str| graded.run.lost.iter().any(|lost| lost.host == host);
    let soak = all.iter().filter(|one| one.phase == TestConcurrency::Soak);
    // A node that went away is named itself.
    let soak = soak.filter(|one| !is_lost(&one.from.host) && !is_lost(&one.to.host));
    let broken = soak.filter_map(|one| {
        let error = one.error()?;
        // When it failed is not known; when the next test began is.
        let later = all.iter().map(|other| other.offset_milliseconds);
        let next = later.filter(|began| *began > one.offset_milliseconds).min();
        let end = graded.run.end.as_ref().map(|end| end.offset_milliseconds);
        let began = one.offset_milliseconds as f64 / 1000.0;
        let time = match next.or(end) {
            Some(next) => format!(
                "between {began:.1} s and {:.1} s after the run began",
                next as f64 / 1000.0
            ),
            None => format!("later than {began:.1} s after the run began"),
        };
        let subject = part_names::direction(&one.from, &one.to);
        let mut fault = MeasuredFault::new(FaultKind::BandwidthUnsteady, Severity::Fault, subject);
        fault.hosts = vec![one.from.host.clone(), one.to.host.clone()];
        fault.of(one);
        fault.saw("traffic broke off", time);
        fault.saw("why", error);
        Some(fault)
    });
    broken.collect()
}

/// The worst window, and how long bandwidth stayed below half of the median.
#[allow(clippy::cast_precision_loss)] // windows of a run
fn of_measurement(one: &Measurement, figures: &BandwidthFigures) -> Option<MeasuredFault> {
    let windows: Vec<f64> = figures.window_gbps().collect();
    if windows.len() < LEAST_WINDOWS {
        return None;
    }
    let usual = median(&windows).filter(|usual| *usual > 0.0)?;
    let is_dip = |window: &f64| *window < usual * DIP_SHARE;
    let first = windows.iter().position(is_dip)?;
    let dips = windows.iter().filter(|window| is_dip(window)).count();
    let worst = windows.iter().copied().fold(f64::INFINITY, f64::min);
    let length = figures.window_nanoseconds as f64 / 1e9;
    let began = one.offset_milliseconds as f64 / 1000.0 + first as f64 * length;
    let subject = part_names::direction(&one.from, &one.to);
    let mut fault = MeasuredFault::new(FaultKind::BandwidthUnsteady, Severity::Warning, subject);
    fault.hosts = vec![one.from.host.clone(), one.to.host.clone()];
    fault.of(one);
    fault.saw("median", part_names::gbps(usual));
    fault.saw("worst 0.1 s", part_names::gbps(worst));
    fault.saw("first dip", format!("{began:.1} s after the run began"));
    fault.saw(
        "time below half of the median",
        format!("{:.1} s", dips as f64 * length),
    );
    Some(fault)
}
