//! `doctor --watch` while a cable is cut and restored: three terminals at once.

use crosstie_lab::hub::CableFault;

use super::WIDTHS;
use crate::common::{
    lab::containers,
    shell::{LAB, Shell},
    tmux::{Terminal, recorded},
};

/// Without the changes below, which are those of one look or of two: the ends of a cable are not read at the same moment.
fn findings(screen: &str) -> String {
    let is_time = |line: &&str| line.get(2..3) == Some(":") && line.get(5..6) == Some(":");
    let lines: Vec<&str> = screen.lines().take_while(|line| !is_time(line)).collect();
    lines.join("\n").trim_end().to_owned()
}

/// All that there is to say of a cable on the narrowest.
const LINES: usize = 48;

#[test]
fn full_a_cable_is_cut_and_restored_before_somebodys_eyes() {
    let lab = containers("two-sparks");
    let shell = Shell::with_lab(&lab);
    shell.done(&format!("crosstie init --lab {LAB} --listen 4"));
    shell.done(&format!("crosstie apply --lab {LAB} --yes"));
    let terminals = WIDTHS.map(|columns| (columns, Terminal::new(&shell, columns, LINES)));
    let all = |work: &dyn Fn(usize, &Terminal)| {
        for (columns, terminal) in &terminals {
            work(*columns, terminal);
        }
    };
    // Containers have no time service, and GIDs that do not follow addresses.
    let skip = "--skip clock-unsynchronised,gid-v2-missing";
    all(&|_, terminal| {
        terminal.start(&format!(
            "crosstie doctor --lab {LAB} --sudo --watch --interval 1 {skip}"
        ));
    });
    all(&|columns, terminal| {
        let screen = terminal.until_shown("nothing wrong");
        recorded("watch_healthy", columns, &screen);
    });
    lab.fault("spark-a:p0", CableFault::Cut).unwrap();
    all(&|columns, terminal| {
        let screen = terminal.until_shown("on 2 nodes; --all shows them");
        terminal.fits();
        assert!(screen.contains("new fault"), "{screen}");
        recorded("watch_cut", columns, &findings(&screen));
    });
    lab.restore("spark-a:p0").unwrap();
    all(&|columns, terminal| {
        let screen = terminal.until_shown("nothing wrong");
        assert!(screen.contains("mended"), "{screen}");
        recorded("watch_restored", columns, &findings(&screen));
        terminal.keys(&["C-c"]);
        let (said, status) = terminal.ended();
        assert_eq!(status, 130, "{said}");
        // What was on the screen before is there again, and what happened meanwhile below it.
        let last = said.lines().last().unwrap_or_default();
        assert!(said.starts_with("$ crosstie doctor"), "{said}");
        assert!(last.contains("nothing wrong"), "{said}");
    });
}
