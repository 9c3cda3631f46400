//! nftables, through `nft`. Only tables that differ are written again: counters, sets that fill at run time, and tables of
//! others (`iptables-nft` has rules that `nft` shows and does not take) stay as they are.

use std::fmt::Write as _;

use super::{BOUNDS, Tables, list};
use crate::{
    command::{run, run_with_input},
    netlink::has_packet_filter,
    network_state::obstacle::NetworkRestoreObstacle,
};
use crosstie_facts::ReadGap;

const PROGRAM: &str = "nft";

/// Empty, and no program is asked, where the kernel has none.
pub(super) fn read() -> Result<Tables, NetworkRestoreObstacle> {
    let unread = |source| NetworkRestoreObstacle::FirewallUnread {
        program: PROGRAM,
        source,
    };
    match has_packet_filter() {
        Ok(false) | Err(ReadGap::Absent) => return Ok(Tables::new()),
        Ok(true) => {}
        Err(gap) => return Err(unread(gap)),
    }
    let output = run(PROGRAM, &["-s", "list", "ruleset"], BOUNDS).map_err(unread)?;
    Ok(tables(&String::from_utf8_lossy(&output)))
}

/// `inet filter` and the text of it, from a line that begins with `table` to one that is a brace.
fn tables(ruleset: &str) -> Tables {
    let mut found = Tables::new();
    let mut open: Option<(String, String)> = None;
    for line in ruleset.lines() {
        if let Some(name) = line
            .strip_prefix("table ")
            .and_then(|rest| rest.split(" {").next())
        {
            open = Some((name.to_owned(), String::new()));
        }
        let Some((name, text)) = &mut open else {
            continue;
        };
        text.push_str(line);
        text.push('\n');
        let is_empty = line.starts_with("table ") && line.ends_with('}');
        if line == "}" || is_empty {
            found.insert(std::mem::take(name), std::mem::take(text));
            open = None;
        }
    }
    found
}

/// Rules with parts that only `iptables` knows: older versions show those as comments, and would take the rest of the rule
/// for all of it.
fn is_partial(text: &str) -> bool {
    let outside_quotes = |line: &str| -> String { line.split('"').step_by(2).collect() };
    text.lines().any(|line| {
        let plain = outside_quotes(line);
        plain.contains('#') || plain.contains("xt match") || plain.contains("xt target")
    })
}

fn partial() -> ReadGap {
    ReadGap::Failed("it has rules of iptables, which nft shows only in part".to_owned())
}

/// Tables that `nft` would not take if it had to.
pub(super) fn unwritable(before: &Tables) -> Vec<NetworkRestoreObstacle> {
    let check =
        |script: &str| run_with_input(PROGRAM, &["-c", "-f", "-"], script.as_bytes(), BOUNDS);
    let all = script(before.iter(), std::iter::empty());
    let is_whole = !before.values().any(|text| is_partial(text));
    if before.is_empty() || (is_whole && check(&all).is_ok()) {
        return Vec::new();
    }
    let fixed = before.iter().filter_map(|(name, text)| {
        let source = if is_partial(text) {
            partial()
        } else {
            check(&script(std::iter::once((name, text)), std::iter::empty())).err()?
        };
        Some(NetworkRestoreObstacle::FirewallFixed {
            table: name.clone(),
            program: PROGRAM,
            source,
        })
    });
    fixed.collect()
}

/// A table is deleted in the transaction that makes it; one that is declared first can be deleted in any case.
fn script<'a>(
    written: impl Iterator<Item = (&'a String, &'a String)>,
    deleted: impl Iterator<Item = &'a String>,
) -> String {
    let mut script = String::new();
    for name in deleted {
        let _ = writeln!(script, "table {name}\ndelete table {name}");
    }
    for (name, text) in written {
        let _ = writeln!(script, "table {name}\ndelete table {name}\n{text}");
    }
    script
}

/// All in one transaction; if that is refused, table by table, so that one cannot keep the others.
pub(super) fn restore(before: &Tables, changes: &mut usize) -> Result<(), NetworkRestoreObstacle> {
    let now = read()?;
    let differing = before
        .iter()
        .filter(|(name, text)| now.get(*name) != Some(*text));
    let (fixed, differing): (Vec<_>, Vec<_>) = differing.partition(|(_, text)| is_partial(text));
    let new: Vec<&String> = now
        .keys()
        .filter(|name| !before.contains_key(*name))
        .collect();
    let mut refused: Vec<(&str, ReadGap)> = fixed
        .iter()
        .map(|(name, _)| (name.as_str(), partial()))
        .collect();
    if differing.is_empty() && new.is_empty() {
        return told(refused);
    }
    *changes += 1;
    let write =
        |script: &str| run_with_input(PROGRAM, &["-f", "-"], script.as_bytes(), BOUNDS).map(drop);
    let all = script(differing.iter().copied(), new.iter().copied());
    if write(&all).is_ok() {
        return told(refused);
    }
    for name in &new {
        let one = script(std::iter::empty(), std::iter::once(*name));
        refused.extend(write(&one).err().map(|gap| (name.as_str(), gap)));
    }
    for (name, text) in &differing {
        let one = script(std::iter::once((*name, *text)), std::iter::empty());
        refused.extend(write(&one).err().map(|gap| (name.as_str(), gap)));
    }
    told(refused)
}

fn told(refused: Vec<(&str, ReadGap)>) -> Result<(), NetworkRestoreObstacle> {
    let names: Vec<&str> = refused.iter().map(|(name, _)| *name).collect();
    let names = list(&names);
    match refused.into_iter().next() {
        None => Ok(()),
        Some((_, source)) => Err(NetworkRestoreObstacle::Firewall {
            tables: names,
            program: PROGRAM,
            source,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ruleset_is_taken_apart_by_table() {
        let ruleset = "# Warning: table ip nat is managed by iptables-nft, do not touch!\ntable ip nat {\n\tchain out {\n\t}\n}\n\
                       table inet filter {\n\tset ours {\n\t\ttype ipv4_addr\n\t}\n}\n\ntable ip6 none {\n}\n";
        let found = tables(ruleset);
        let names: Vec<&String> = found.keys().collect();
        assert_eq!(names, ["inet filter", "ip nat", "ip6 none"]);
        assert_eq!(found["ip nat"], "table ip nat {\n\tchain out {\n\t}\n}\n");
    }

    #[test]
    fn rules_that_are_shown_in_part_are_not_written() {
        assert!(is_partial(
            "\t\tmeta l4proto tcp # xt_addrtype counter drop"
        ));
        assert!(is_partial(
            "\t\tip saddr 10.0.0.0/8 xt match \"addrtype\" drop"
        ));
        assert!(!is_partial(
            "\t\tip saddr 10.0.0.0/8 accept comment \"rule #1\""
        ));
    }
}
