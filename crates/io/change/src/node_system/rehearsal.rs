//! Being cut off on purpose: a file that only root can write names a moment, and the program dies there, or waits for
//! somebody else to die. So a rollback can be tried on a real machine, at every moment that it promises to survive.
//! Only the program that tests build has it (the feature `rehearsal`).

use std::{
    fs::{self, OpenOptions},
    io::Write,
    os::unix::fs::MetadataExt,
    path::Path,
    thread,
    time::Duration,
};

use rustix::process::{Signal, getpid, kill_process};

/// `NUMBER kill` or `NUMBER hold`: at the edge with this number the program is killed, or everything waits, so that the
/// controller can be killed or the machine lose its power. Once: the file goes, and what comes after goes on. Or `list`, and
/// below it the name of every edge.
///
/// The file counts, not the program: a change is made by one agent, confirmed by the next, rolled back by a third.
const ORDER_FILE: &str = "/run/crosstie-rehearsal";
const HOLD_TIMEOUT: Duration = Duration::from_secs(60);

pub(super) fn reach_cut_point(edge: &str) {
    let Ok(status) = fs::symlink_metadata(ORDER_FILE) else {
        return;
    };
    if status.uid() != 0 || status.mode() & 0o022 != 0 || !status.is_file() {
        return;
    }
    match take(Path::new(ORDER_FILE), edge).as_deref() {
        Some("kill") => {
            let _ = kill_process(getpid(), Signal::KILL);
        }
        Some("hold") => thread::sleep(HOLD_TIMEOUT),
        _ => {}
    }
}

/// What to do at this edge. Until its number comes the file is left with one less.
fn take(order: &Path, edge: &str) -> Option<String> {
    let text = fs::read_to_string(order).ok()?;
    let mut words = text.split_whitespace();
    let first = words.next()?;
    if first == "list" {
        let mut list = OpenOptions::new().append(true).open(order).ok()?;
        writeln!(list, "{edge}").ok()?;
        return None;
    }
    let (number, what): (u32, _) = (first.parse().ok()?, words.next()?);
    if number > 1 {
        fs::write(order, format!("{} {what}\n", number - 1)).ok()?;
        return None;
    }
    fs::remove_file(order).ok()?;
    Some(what.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_for_one_edge_and_goes() {
        let directory = tempfile::tempdir().unwrap();
        let order = directory.path().join("order");
        fs::write(&order, "3 kill\n").unwrap();
        let said: Vec<_> = ["a", "b", "c", "d"]
            .map(|edge| take(&order, edge))
            .into_iter()
            .collect();
        assert_eq!(said, [None, None, Some("kill".to_owned()), None]);
        assert!(!order.exists());
    }

    #[test]
    fn a_list_names_every_edge() {
        let directory = tempfile::tempdir().unwrap();
        let order = directory.path().join("order");
        fs::write(&order, "list\n").unwrap();
        for edge in ["a file has its name", "the guard waits"] {
            assert_eq!(take(&order, edge), None);
        }
        let list = fs::read_to_string(&order).unwrap();
        assert_eq!(list, "list\na file has its name\nthe guard waits\n");
    }
}
