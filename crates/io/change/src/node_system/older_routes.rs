//! Routes in the journal of an older build, as `ip route` shows and takes them.

use crate::{error::ExternalProgramError, program::run};

const FAMILIES: [&str; 2] = ["-4", "-6"];

/// Routes of the main table, each behind its family. The kernel's own come and go with addresses.
fn routes() -> Vec<String> {
    let lines = FAMILIES.into_iter().flat_map(|family| {
        let shown = run("ip", &[family, "route", "show", "table", "main"]).unwrap_or_default();
        let lines: Vec<String> = shown
            .lines()
            .filter(|line| !line.contains(" proto kernel") && !line.contains(" proto ra"))
            // Several next hops go over several lines; those of the first would be a route of its own.
            .filter(|line| line.contains(" dev ") || line.contains(" via "))
            .map(|line| format!("{family} {}", without_state(line)))
            .collect();
        lines
    });
    lines.collect()
}

/// What `ip` shows and does not take.
fn without_state(line: &str) -> String {
    let words = line.split_whitespace();
    let words = words.filter(|word| !matches!(*word, "linkdown" | "dead"));
    words.collect::<Vec<&str>>().join(" ")
}

pub(super) fn restore(before: &[String]) -> Result<(), ExternalProgramError> {
    let now = routes();
    let change = |verb: &str, route: &String| {
        let words: Vec<&str> = route.split(' ').collect();
        let (family, rest) = words.split_first().unwrap_or((&"-4", &[]));
        let mut arguments = vec![*family, "route", verb];
        arguments.extend(rest);
        run("ip", &arguments).map(drop)
    };
    for route in now.iter().filter(|route| !before.contains(route)) {
        change("delete", route)?;
    }
    for route in before.iter().filter(|route| !now.contains(route)) {
        change("replace", route)?;
    }
    Ok(())
}
