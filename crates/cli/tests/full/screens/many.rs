//! Twenty nodes, as captures: what is the same on all of them is said once.

use std::path::Path;

use crosstie_node::capture;

use super::{LINES, WIDTHS};
use crate::common::{
    cases::substitute,
    samples,
    shell::Shell,
    tmux::{Terminal, recorded},
};

/// Sparks on a switch, each as healthy as the sample.
fn write_fleet(folder: &Path) {
    std::fs::create_dir(folder).unwrap();
    for number in 1..=20 {
        let name = format!("spark-{number:02}");
        let (own, hex) = (number + 10, format!("{:02x}", number + 10));
        let pairs = [
            ("spark-a", name.clone()),
            ("30:0b:", format!("30:{hex}:")),
            ("fe30:0b", format!("fe30:{hex}")),
            ("c0a8:b10b", format!("c0a8:b1{hex}")),
            ("c0a8:b20b", format!("c0a8:b2{hex}")),
            ("abcdef000b", format!("abcdef00{hex}")),
            ("192.168.177.11", format!("192.168.177.{own}")),
            ("192.168.178.11", format!("192.168.178.{own}")),
            ("10.1.2.11", format!("10.1.2.{own}")),
        ];
        let pairs = pairs.map(|(from, to)| (from.to_owned(), to));
        let mut raw = samples::raw("spark-healthy");
        substitute(&mut raw, &pairs);
        capture::write(&raw, &folder.join(name)).unwrap();
    }
}

#[test]
fn full_twenty_nodes_fit() {
    let shell = Shell::new();
    write_fleet(&shell.work().join("fleet"));
    for columns in WIDTHS {
        let terminal = Terminal::new(&shell, columns, LINES);
        for verb in ["scan", "doctor"] {
            let (said, status) = terminal.run(&format!("crosstie {verb} --from fleet"));
            assert_eq!(status, 0, "{said}");
            terminal.fits();
            recorded(&format!("twenty_{verb}"), columns, &said);
        }
    }
}
