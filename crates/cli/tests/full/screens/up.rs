//! `up`, and every answer that its question can get.

use super::LINES;
use crate::common::{
    lab::containers,
    shell::{LAB, Shell},
    tmux::{Terminal, recorded},
};

fn asks(terminal: &Terminal) {
    terminal.start(&format!("crosstie up --lab {LAB} --no-measure"));
    terminal.until_shown("[y/n, d: diff]");
}

/// What it said, once it has ended like this.
fn ended(terminal: &Terminal, status: i32) -> String {
    let (said, found) = terminal.ended();
    assert_eq!(found, status, "{said}");
    terminal.fits();
    terminal.offers_what_parses();
    said
}

fn answers(columns: usize) {
    let lab = containers("two-sparks");
    let shell = Shell::with_lab(&lab);
    let terminal = Terminal::new(&shell, columns, LINES);
    let record = |name: &str, said: &str| recorded(&format!("up_{name}"), columns, said);

    asks(&terminal);
    terminal.line("maybe");
    terminal.until_shown("Please type y or n");
    terminal.line("n");
    record("no", &ended(&terminal, 1));

    asks(&terminal);
    terminal.keys(&["C-c"]);
    record("interrupted", &ended(&terminal, 130));

    asks(&terminal);
    terminal.keys(&["C-d"]);
    let said = ended(&terminal, 1);
    assert!(said.contains("--yes"), "{said}");
    record("end_of_input", &said);

    asks(&terminal);
    terminal.line("y");
    record("yes", &ended(&terminal, 0));
}

#[test]
fn full_up_is_answered_on_a_narrow_terminal() {
    answers(40);
}

#[test]
fn full_up_is_answered_on_a_usual_terminal() {
    answers(80);
}

#[test]
fn full_up_is_answered_on_a_wide_terminal() {
    answers(120);
}
