//! Agents that sessions without root have left in the cache of whoever came: root, or who became root by sudo.

use std::{fs, io, time::Duration};

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

/// Which of root's agents were looked at since the start; the script that starts them writes it.
const KNOWN: &str = "/run/crosstie";

const REMOVE_TIMEOUT: Duration = Duration::from_secs(10);

/// As root. What could not be removed comes back, for a person.
pub fn remove() -> Vec<String> {
    let mut owners = vec![(0, 0)];
    let number = |name: &str| std::env::var(name).ok()?.parse::<u32>().ok();
    owners.extend(number("SUDO_UID").zip(number("SUDO_GID")));
    owners.dedup();
    let problems = owners.into_iter().filter_map(|(user, group)| {
        let home = HomeFolder::path_of(user).ok()?;
        let folder = home.join(".cache/crosstie/bin").display().to_string();
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
