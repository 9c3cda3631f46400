//! The time service: systemd starts the first that is installed, of those that packages list.

use std::{collections::BTreeSet, fs};

use crosstie_model::{Step, distribution::TimeServices};

use super::{distribution, system::System};

/// Those that systemd may start, and those that it stops for it.
pub(super) fn units(system: &dyn System) -> Vec<String> {
    let lists = known(system).lists.iter();
    let lists = lists.filter_map(|folder| fs::read_dir(system.path(folder)).ok());
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

/// What enabling one of them may make, and taking another out of force may remove.
pub(super) fn links(system: &dyn System, steps: &[Step]) -> Vec<String> {
    let is_wanted = |step: &Step| matches!(step, Step::TimeService { .. });
    if !steps.iter().any(is_wanted) {
        return Vec::new();
    }
    let distribution = distribution::installed(&system.path("/"));
    let (folder, services) = (distribution.folders.units, &distribution.time_services);
    let wanted = units(system).into_iter().flat_map(|unit| {
        let links = services.targets.iter();
        links.map(move |target| format!("{folder}/{target}/{unit}"))
    });
    let aliases = services.aliases.iter();
    wanted
        .chain(aliases.map(|alias| format!("{folder}/{alias}")))
        .collect()
}

fn known(system: &dyn System) -> &'static TimeServices {
    &distribution::installed(&system.path("/")).time_services
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
