//! `try`, kept and not kept.

use super::{LINES, WIDTHS};
use crate::common::{
    lab::containers,
    shell::{LAB, Shell},
    tmux::{Terminal, recorded},
};

#[test]
fn full_a_trial_is_kept_or_not() {
    let lab = containers("two-sparks");
    let shell = Shell::with_lab(&lab);
    for columns in WIDTHS {
        let terminal = Terminal::new(&shell, columns, LINES);
        for (answer, status) in [("n", 1), ("y", 0)] {
            terminal.start(&format!(
                "crosstie try --lab {LAB} spark-a -- ip route add 198.51.100.{columns}/32 dev lo"
            ));
            terminal.until_shown("[y/n]");
            terminal.line(answer);
            let (said, found) = terminal.ended();
            assert_eq!(found, status, "{said}");
            terminal.fits();
            recorded(&format!("try_{answer}"), columns, &said);
        }
    }
}
