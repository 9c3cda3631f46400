//! What a page says is what the JSON says, and text stays text.

use crosstie_grade::GradedRun;
use crosstie_model::run::Run;

use super::*;
use crate::{
    compare::comparison,
    made_up::{self, HOSTILE},
    run_report::{findings, run_report},
    share::share,
};

fn report(run: &Run) -> RunReport {
    let graded = GradedRun::new(run);
    run_report(&graded, findings(&graded), None)
}

/// For eyes: `CROSSTIE_PAGES=DIR cargo test -p crosstie-report pages_for_eyes`.
#[test]
fn pages_for_eyes() {
    let Some(folder) = std::env::var_os("CROSSTIE_PAGES") else {
        return;
    };
    let folder = std::path::Path::new(&folder);
    let slow = made_up::two_sparks(true);
    let healthy = made_up::two_sparks(false);
    let (shared, replaced) = share(&slow);
    let graded = GradedRun::new(&shared);
    let shared = run_report(&graded, findings(&graded), Some(replaced));
    let runs = [&healthy, &slow];
    let reports = runs.map(report);
    let compared = comparison(runs, [&reports[0], &reports[1]]);
    for (name, page) in [
        ("two-sparks", run_page(&reports[0])),
        ("slow-cable", run_page(&reports[1])),
        ("shared", run_page(&shared)),
        ("sixteen", run_page(&report(&made_up::sixteen()))),
        ("hostile", run_page(&report(&made_up::hostile()))),
        ("compared", compare_page(&compared)),
    ] {
        std::fs::write(folder.join(name).with_extension("html"), page).unwrap();
    }
}
