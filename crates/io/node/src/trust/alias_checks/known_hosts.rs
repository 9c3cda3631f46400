//! What the user's known hosts say of a name.

use std::{collections::BTreeSet, fs::File, path::PathBuf};

use crosstie_trust::{MachineName, PublicKey};

use super::{AliasChecker, shown_key::ResolvedAlias};
use crate::command::run_to_end;

/// `ssh-keygen -F` for a name that is not there.
const NOT_FOUND: i32 = 1;

impl AliasChecker {
    /// Whether the files have the name with other keys alone. `None`: it cannot be told.
    pub(super) fn is_known_otherwise(
        &self,
        alias: &MachineName,
        route: &ResolvedAlias,
        port: u16,
        key: &PublicKey,
    ) -> Option<bool> {
        let mut names = BTreeSet::new();
        let hosts = [Some(alias.as_str()), Some(&route.host)];
        for host in hosts.into_iter().chain([route.host_key_alias.as_deref()]) {
            let Some(host) = host.map(str::to_lowercase) else {
                continue;
            };
            // `put_host_port`: only another port than 22 is part of the name.
            for port in [port, route.port].into_iter().filter(|port| *port != 22) {
                names.insert(format!("[{host}]:{port}"));
            }
            names.insert(host);
        }
        let files = self.files(route);
        for name in &names {
            let mut entries = Vec::new();
            for file in &files {
                entries.extend(self.entries(name, file)?);
            }
            if has_others(&entries, key) {
                return Some(true);
            }
        }
        Some(false)
    }

    fn files(&self, route: &ResolvedAlias) -> BTreeSet<PathBuf> {
        let listed = route.known_hosts.iter();
        let listed = listed.flat_map(|list| list.split(' ').chain([list.as_str()]));
        let all = self
            .known_hosts
            .iter()
            .cloned()
            .chain(listed.map(Into::into));
        all.filter(|path| !path.starts_with(&self.ours) && path.is_absolute())
            // What we cannot open, the user's ssh does not heed either.
            .filter(|path| path.is_file() && File::open(path).is_ok())
            .collect()
    }

    /// Lines of a file for a name, hashed ones too. `None`: it cannot be told.
    fn entries(&self, name: &str, file: &std::path::Path) -> Option<Vec<String>> {
        let path = file.display().to_string();
        let finished = run_to_end(
            "ssh-keygen",
            &["-F", name, "-f", &path],
            &[],
            self.bounds()?,
        );
        let finished = finished.ok()?;
        if finished.status.code() == Some(NOT_FOUND) {
            return Some(Vec::new());
        }
        let text = String::from_utf8_lossy(&finished.output).into_owned();
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        finished
            .status
            .success()
            .then(|| lines.map(str::to_owned).collect())
    }
}

/// A key that is revoked, or an authority that vouches for the host, is not this key.
fn has_others(entries: &[String], key: &PublicKey) -> bool {
    let is_ours = |entry: &String| {
        let (hosts, rest) = entry.split_once(' ').unwrap_or_default();
        !hosts.starts_with('@') && rest.parse::<PublicKey>().as_ref() == Ok(key)
    };
    let marked = entries.iter().any(|entry| entry.starts_with('@'));
    marked || (!entries.is_empty() && !entries.iter().any(is_ours))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_key_itself_is_the_key() {
        let text =
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGxN8LDhNjGhbFOLZjVCCVVLlxr5eFpW9iVRCEdVNfoB";
        let key: PublicKey = text.parse().unwrap();
        let other = text.replace("NfoB", "NfoC");
        let has = |entries: &[String]| has_others(entries, &key);
        assert!(!has(&[]));
        assert!(!has(&[format!("nas {text} mine")]));
        assert!(!has(&[format!("|1|x=|y= {other}"), format!("nas {text}")]));
        assert!(has(&[format!("|1|x=|y= {other}")]));
        assert!(has(&[format!("@revoked nas {text}")]));
        assert!(has(&["nas ssh-dss AAAA".to_owned()]));
    }
}
