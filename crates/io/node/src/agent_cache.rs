//! Agents that sessions without root have left in the cache of whoever came: root, or who became root by sudo.

use std::{fs, io, path::PathBuf, time::Duration};

use crate::{
    command::{CommandLimits, run},
    trust::HomeFolder,
};

/// Run as the owner of the folder, so that no link in a user's home leads root elsewhere. Builds are named by their SHA-256.
const REMOVE: &str = r#"
cd -- "$1" 2>/dev/null || exit 0
for name in * .new.*; do
    case $name in
    .new.*) ;;
    *[!0-9a-f]*) continue ;;
    *) [ "${#name}" = 64 ] || continue ;;
    esac
    rm -f -- "$name"
done
cd /
rmdir -- "$1" && rmdir -- "${1%/*}" && rmdir -- "${1%/*/*}"
exit 0
"#;

/// `XDG_CACHE_HOME` of whoever became root by sudo, from the script that starts agents.
const USER_CACHE_VARIABLE: &str = "CROSSTIE_USER_CACHE";

/// Which of root's agents were looked at since the start; the script that starts them writes it.
const KNOWN: &str = "/run/crosstie";

const REMOVE_TIMEOUT: Duration = Duration::from_secs(10);

/// As root. What could not be removed comes back, for a person.
pub fn remove() -> Vec<String> {
    let number = |name: &str| std::env::var(name).ok()?.parse::<u32>().ok();
    let sudo = number("SUDO_UID").zip(number("SUDO_GID"));
    let cache = std::env::var_os(USER_CACHE_VARIABLE).map(PathBuf::from);
    let folders = folders(sudo, cache, |user| HomeFolder::path_of(user).ok());
    let problems = folders.into_iter().filter_map(|((user, group), folder)| {
        let folder = folder.display().to_string();
        let (user, group) = (user.to_string(), group.to_string());
        let arguments = [
            "--reuid",
            &user,
            "--regid",
            &group,
            "--clear-groups",
            "--",
            "/bin/sh",
            "-c",
            REMOVE,
            "sh",
            &folder,
        ];
        let bounds = CommandLimits {
            deadline: REMOVE_TIMEOUT,
            ..CommandLimits::default()
        };
        let gap = run("setpriv", &arguments, bounds).err()?;
        Some(format!("{folder} may still have agents: {gap}"))
    });
    let known = fs::remove_dir_all(KNOWN).err();
    let known = known.filter(|error| error.kind() != io::ErrorKind::NotFound);
    let known = known.map(|error| format!("{KNOWN} could not be removed: {error}"));
    problems.chain(known).collect()
}

type Account = (u32, u32);

/// Where agents may be, each with whom it belongs to.
fn folders(
    sudo: Option<Account>,
    cache: Option<PathBuf>,
    home: impl Fn(u32) -> Option<PathBuf>,
) -> Vec<(Account, PathBuf)> {
    let mut owners = vec![(0, 0)];
    owners.extend(sudo);
    owners.dedup();
    let homes = owners.into_iter();
    let homes = homes.filter_map(|owner| Some((owner, home(owner.0)?.join(".cache"))));
    let named = sudo.zip(cache.filter(|cache| cache.is_absolute()));
    homes
        .chain(named)
        .map(|(owner, cache)| (owner, cache.join("crosstie/bin")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_sought_wherever_the_user_keeps_caches() {
        let home = |user| Some(PathBuf::from(format!("/home/{user}")));
        let found = |sudo, cache: Option<&str>| {
            let found = folders(sudo, cache.map(PathBuf::from), home).into_iter();
            let found = found.map(|(owner, folder)| (owner.0, folder.display().to_string()));
            found.collect::<Vec<_>>()
        };
        let in_home = |user: u32| (user, format!("/home/{user}/.cache/crosstie/bin"));
        assert_eq!(found(None, Some("/scratch")), [in_home(0)]);
        assert_eq!(found(Some((7, 7)), Some("x")), [in_home(0), in_home(7)]);
        assert_eq!(
            found(Some((7, 7)), Some("/scratch/7")),
            [
                in_home(0),
                in_home(7),
                (7, "/scratch/7/crosstie/bin".to_owned())
            ]
        );
    }
}
