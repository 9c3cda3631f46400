//! A trial that cuts its node off, before somebody's eyes: on terminals of three widths, which waits for the guard each time.

use crate::common::{
    changes::{wait_for, wait_until_settled},
    lab::containers,
    shell::{LAB, Shell},
    tmux::{Terminal, recorded},
};

const NODE: &str = "spark-a";

/// Longer than a node waits for its controller (30 s), so that the same of the two ends it each time.
const GUARD: &str = "45s";

#[test]
fn full_a_trial_that_locks_one_out_is_rolled_back() {
    let lab = containers("two-sparks");
    let shell = Shell::with_lab(&lab);
    for columns in [40, 80, 120] {
        let terminal = Terminal::new(&shell, columns, 24);
        let (said, status) = terminal.run(&format!(
            "crosstie try --lab {LAB} {NODE} --for {GUARD} -- ip link set enP7s7 down"
        ));
        assert_eq!(status, 1, "{said}");
        terminal.fits();
        recorded("try_locked_out", columns, &said);
        wait_for(&lab, NODE);
        wait_until_settled(&lab, NODE);
        let (said, status) = terminal.run(&format!("crosstie status --lab {LAB} {NODE}"));
        assert_eq!(status, 0, "{said}");
        terminal.fits();
        recorded("try_locked_out_status", columns, &said);
    }
}
