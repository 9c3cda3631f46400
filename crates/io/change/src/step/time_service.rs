//! systemd starts the first time service that is installed, of those that packages list.

use std::{collections::BTreeSet, fs, path::PathBuf};

use crosstie_model::plan::TimeService;

use super::{ApplyStep, NodeRuntime};
use crate::{distribution, error::StepError, program::run};

impl ApplyStep for TimeService {
    /// systemd chooses which. Undone, the one that runs is stopped: whether a boot starts it is what files say, and those are
    /// restored.
    fn apply(&self, node: &mut NodeRuntime) -> Result<(), StepError> {
        if self.on.to {
            run("timedatectl", &["set-ntp", "true"])?;
            return Ok(());
        }
        for unit in units(&|path| node.root.join(path.trim_start_matches('/'))) {
            if run("systemctl", &["is-active", "--", &unit]).is_ok() {
                run("systemctl", &["stop", "--", &unit])?;
            }
        }
        Ok(())
    }

    /// What enabling one of them may make, and taking another out of force may remove.
    fn links(&self, path: &dyn Fn(&str) -> PathBuf) -> Vec<String> {
        let distribution = distribution::installed(&path("/"));
        let (folder, services) = (distribution.folders.units, &distribution.time_services);
        let wanted = units(path).into_iter().flat_map(|unit| {
            let links = services.targets.iter();
            links.map(move |target| format!("{folder}/{target}/{unit}"))
        });
        let aliases = services.aliases.iter();
        wanted
            .chain(aliases.map(|alias| format!("{folder}/{alias}")))
            .collect()
    }
}

/// Those that systemd may start, and those that it stops for it.
fn units(path: &dyn Fn(&str) -> PathBuf) -> Vec<String> {
    let distribution = distribution::installed(&path("/"));
    let lists = distribution.time_services.lists.iter();
    let lists = lists.filter_map(|folder| fs::read_dir(path(folder)).ok());
    let lists = lists.flatten().flatten().map(|entry| entry.path());
    let texts = lists.filter_map(|path| fs::read_to_string(path).ok());
    let mut units: BTreeSet<String> = BTreeSet::new();
    for text in texts {
        let lines = text.lines().map(str::trim);
        units.extend(lines.filter(|line| is_unit(line)).map(str::to_owned));
    }
    units.into_iter().collect()
}

/// It becomes an argument, and part of a path.
fn is_unit(line: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.@".contains(&byte);
    line.ends_with(".service") && line.bytes().all(is_plain) && !line.starts_with(['-', '.'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_becomes_an_argument_is_the_name_of_a_service() {
        assert!(is_unit("systemd-timesyncd.service"));
        for odd in [
            "",
            "# chrony.service x",
            "-x.service",
            "../x.service",
            "a b.service",
            "chrony",
        ] {
            assert!(!is_unit(odd), "{odd}");
        }
    }
}
