//! A host key that nobody knows yet, and somebody who does not approve of it.

use std::fs;

use super::{LINES, WIDTHS};
use crate::common::{lab::containers, shell::Shell, tmux::Terminal};

#[test]
fn full_a_host_key_that_is_not_approved_of_ends_it_with_1() {
    let lab = containers("two-sparks");
    let shell = Shell::with_lab(&lab);
    let known = fs::read_to_string(lab.ssh_config()).unwrap();
    let unknown = known.lines().map(|line| {
        if line.trim_start().starts_with("UserKnownHostsFile") {
            "  UserKnownHostsFile /dev/null"
        } else {
            line
        }
    });
    let unknown: Vec<&str> = unknown.collect();
    fs::write(shell.work().join("ssh_config"), unknown.join("\n")).unwrap();
    for columns in WIDTHS {
        let terminal = Terminal::new(&shell, columns, LINES);
        let asks = || {
            terminal.start("crosstie trust spark-a --ssh-config ssh_config");
            terminal.until_shown("Is it the same? [y/n]");
        };
        let ended = |status: i32| {
            let (said, found) = terminal.ended();
            assert_eq!(found, status, "{said}");
            terminal.fits();
            said
        };
        asks();
        terminal.line("maybe");
        terminal.until_shown("Please type y or n.");
        terminal.line("n");
        let said = ended(1);
        assert!(said.contains("not approved of"), "{said}");
        asks();
        terminal.keys(&["C-d"]);
        let said = ended(1);
        assert!(said.contains("--fingerprint"), "{said}");
        asks();
        terminal.keys(&["C-c"]);
        ended(130);
    }
}
