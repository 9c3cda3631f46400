//! What was changed, on disk before it is changed, so that it can be restored whatever happens.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use crosstie_durable::{AtomicWrite, FileOperations, RealDisk, make_folder, read_json};
use crosstie_fabric::cabling::CablingToken;
use crosstie_model::{Facts, word};
use serde::{Deserialize, Serialize};

use super::{CablingError, interface::CablingInterface};
use crate::{boot_id, lock, netlink::link_client::LinkClient};

const FORMAT: u32 = 1;
/// A journal of ours has a few kilobytes.
const MAX_JOURNAL_BYTES: u64 = 1 << 20;
/// For another run to end: one that was cancelled a moment ago is still on its way out.
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    format: u32,
    /// After another boot the links are as that boot made them.
    boot: String,
    /// Interfaces of other network namespaces are not ours to touch.
    namespace: String,
    links: Vec<LinkJournalEntry>,
}

/// A link that was down.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LinkJournalEntry {
    name: String,
    index: u32,
    mac: Vec<u8>,
    /// As `/proc/sys/net/ipv6/conf/IF/disable_ipv6` was; `None` where there is no IPv6.
    disable_ipv6: Option<String>,
}

impl LinkJournalEntry {
    pub(super) fn of(port: &CablingInterface) -> Self {
        let link = port.link.as_ref();
        Self {
            name: port.name.clone(),
            index: link.map_or(0, |link| link.index),
            mac: link.map_or_else(Vec::new, |link| link.mac.clone()),
            disable_ipv6: fs::read_to_string(disable_ipv6(&port.name))
                .ok()
                .map(|value| value.trim().to_owned()),
        }
    }
}

fn disable_ipv6(name: &str) -> PathBuf {
    // The kernel takes no name with a slash.
    Path::new("/proc/sys/net/ipv6/conf")
        .join(name)
        .join("disable_ipv6")
}

/// Brings a link up, with no IPv6 on it: it would give itself addresses and take more from routers.
pub(super) fn raise(links: &mut LinkClient, port: &CablingInterface) -> Result<(), String> {
    let Some(link) = &port.link else {
        return Err("it has gone".to_owned());
    };
    match fs::write(disable_ipv6(&port.name), "1") {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(format!("IPv6 cannot be kept off it: {error}"));
        }
        _ => {}
    }
    links
        .set_up(link.index, true)
        .map_err(|error| format!("it cannot be brought up: {error}"))
}

#[derive(Debug)]
pub(super) struct LinkJournal {
    path: PathBuf,
    links: Vec<LinkJournalEntry>,
}

#[derive(Debug, Default)]
pub(super) struct LinkRestoreOutcome {
    pub(super) done: Vec<String>,
    pub(super) failed: Vec<String>,
}

impl LinkJournal {
    pub(super) fn write(
        state: &Path,
        run: CablingToken,
        links: Vec<LinkJournalEntry>,
    ) -> Result<Self, CablingError> {
        // Two nodes of a run may be namespaces of one machine.
        let path = state.join(format!("{run}.{}.json", namespace()));
        let content = Content {
            format: FORMAT,
            boot: boot_id(),
            namespace: namespace(),
            links,
        };
        write_durably(&RealDisk, &path, &content).map_err(|error| journal_error(&path, &error))?;
        let links = content.links;
        Ok(Self { path, links })
    }

    /// Puts every link down again. A link that somebody has given an address since is theirs: only a later run (`facts`)
    /// would find one. The journal stays while anything is left to do.
    pub(super) fn restore(
        &self,
        links: &mut LinkClient,
        facts: Option<&Facts>,
    ) -> LinkRestoreOutcome {
        let mut outcome = LinkRestoreOutcome::default();
        for entry in &self.links {
            match entry.restore(links, facts) {
                Ok(Some(what)) => outcome.done.push(what),
                Ok(None) => {}
                Err(why) => outcome.failed.push(why),
            }
        }
        if outcome.failed.is_empty()
            && let Err(error) = fs::remove_file(&self.path)
        {
            let path = self.path.display();
            outcome
                .failed
                .push(format!("{path} cannot be removed: {error}"));
        }
        outcome
    }
}

impl LinkJournalEntry {
    fn restore(
        &self,
        links: &mut LinkClient,
        facts: Option<&Facts>,
    ) -> Result<Option<String>, String> {
        let name = &self.name;
        let link = links
            .find(name)
            .map_err(|error| format!("{name} was down and may still be up: {error}"))?;
        let Some(link) = link.filter(|link| link.index == self.index && link.mac == self.mac)
        else {
            return Ok(None);
        };
        let interface = facts.and_then(|facts| facts.network.interface(name));
        let mut addresses = interface.into_iter().flat_map(|found| &found.addresses);
        let address = addresses.find(|own| own.scope != "link");
        if link.is_up && address.is_none() {
            links.set_up(link.index, false).map_err(|error| {
                let word = word(name);
                format!("{name} was down and is still up: {error}; ip link set dev {word} down")
            })?;
        }
        // Where it goes down, after that, so that it gives itself no address.
        if let Some(value) = &self.disable_ipv6 {
            fs::write(disable_ipv6(name), value).map_err(|error| {
                format!("{name} has IPv6 switched off, which was {value}: {error}")
            })?;
        }
        Ok(match address {
            Some(own) => Some(format!(
                "{name} had been brought up; it has the address {} now and stays up",
                own.net
            )),
            None => link
                .is_up
                .then(|| format!("{name} had been left up and is down again")),
        })
    }
}

/// Links that are up for now. They go down with it, also when a panic ends the run.
pub(super) struct RaisedLinksGuard(Option<LinkJournal>);

impl RaisedLinksGuard {
    pub(super) fn new(journal: LinkJournal) -> Self {
        Self(Some(journal))
    }

    pub(super) fn restore(mut self, links: &mut LinkClient) -> LinkRestoreOutcome {
        let journal = self.0.take();
        journal.map_or_else(LinkRestoreOutcome::default, |journal| {
            journal.restore(links, None)
        })
    }
}

impl Drop for RaisedLinksGuard {
    fn drop(&mut self) {
        if let (Some(journal), Ok(mut links)) = (self.0.take(), LinkClient::open()) {
            for why in journal.restore(&mut links, None).failed {
                tracing::error!("{why}");
            }
        }
    }
}

/// One run at a time in a network namespace. Makes the directory.
pub(super) fn lock(state: &Path) -> Result<File, CablingError> {
    let error = |error: io::Error| journal_error(state, &error);
    make_folder(&RealDisk, state, 0o755).map_err(error)?;
    let path = state.join(format!("{}.lock", namespace()));
    let taken = lock::take(&path, LOCK_TIMEOUT).map_err(error)?;
    taken.ok_or(CablingError::Busy)
}

/// Journals of runs in this namespace that were killed. Those of another boot have nothing left to restore.
pub(super) fn killed_run_journals(
    state: &Path,
) -> Result<Vec<Result<LinkJournal, String>>, CablingError> {
    let error = |error: io::Error| journal_error(state, &error);
    let mut found = Vec::new();
    for entry in fs::read_dir(state).map_err(error)? {
        let path = entry.map_err(error)?.path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        match read(&path) {
            Ok(content) if content.boot != boot_id() => {
                let _ = fs::remove_file(&path);
            }
            Ok(content) if content.namespace == namespace() => {
                let links = content.links;
                found.push(Ok(LinkJournal { path, links }));
            }
            Ok(_) => {}
            Err(error) => found.push(Err(format!(
                "{} cannot be read ({error}): if a link is up that should not be, put it down, then remove the file",
                path.display()
            ))),
        }
    }
    Ok(found)
}

fn read(path: &Path) -> io::Result<Content> {
    let content: Content = read_json(path, MAX_JOURNAL_BYTES)?;
    if content.format != FORMAT {
        return Err(io::Error::other(format!(
            "its format is {}",
            content.format
        )));
    }
    Ok(content)
}

/// Runs in other namespaces write here under locks of their own, so the temporary name is this one's alone.
fn write_durably(
    operations: &dyn FileOperations,
    path: &Path,
    content: &Content,
) -> io::Result<()> {
    AtomicWrite::new(path, 0o600)
        .via_unique_temporary()
        .write_json(operations, content)
}

fn journal_error(path: &Path, error: &io::Error) -> CablingError {
    CablingError::Journal {
        path: path.display().to_string(),
        why: error.to_string(),
    }
}

/// The number of this thread's network namespace.
fn namespace() -> String {
    let link = fs::read_link("/proc/thread-self/ns/net").unwrap_or_default();
    let digits = link.to_string_lossy();
    digits.chars().filter(char::is_ascii_digit).collect()
}

#[cfg(test)]
mod tests {
    use crosstie_durable::testing::{CrashPoint, CrashTestDisk, at_every_cut};
    use tempfile::TempDir;

    use super::*;

    fn content(boot: &str, namespace: &str) -> Content {
        Content {
            format: FORMAT,
            boot: boot.to_owned(),
            namespace: namespace.to_owned(),
            links: Vec::new(),
        }
    }

    fn write(state: &Path, name: &str, boot: &str, namespace: &str) {
        let content = content(boot, namespace);
        write_durably(&RealDisk, &state.join(name), &content).unwrap();
    }

    #[test]
    fn journals_of_another_boot_go_and_those_of_others_stay() {
        let state = tempfile::tempdir().unwrap();
        write(state.path(), "ours.json", &boot_id(), &namespace());
        write(state.path(), "before.json", "another boot", &namespace());
        write(state.path(), "beside.json", &boot_id(), "1");
        fs::write(state.path().join("broken.json"), "{").unwrap();
        fs::write(state.path().join("torn.partial"), "{").unwrap();
        let found = killed_run_journals(state.path()).unwrap();
        let ours = found.iter().filter_map(|found| found.as_ref().ok());
        let paths: Vec<_> = ours.map(|journal| journal.path.clone()).collect();
        assert_eq!(paths, [state.path().join("ours.json")]);
        let broken: Vec<_> = found
            .iter()
            .filter_map(|found| found.as_ref().err())
            .collect();
        assert!(
            broken.len() == 1 && broken[0].contains("broken.json"),
            "{broken:?}"
        );
        assert!(!state.path().join("before.json").exists());
        assert!(state.path().join("beside.json").exists());
    }

    #[test]
    fn a_journal_is_there_whole_or_not_at_all() {
        let work = |disk: &CrashTestDisk, state: &TempDir| {
            let content = content(&boot_id(), &namespace());
            write_durably(disk, &state.path().join("ours.json"), &content)
        };
        let check = |state: &TempDir, place: &CrashPoint| {
            let found = killed_run_journals(state.path()).unwrap();
            let whole = found.iter().filter(|found| found.is_ok()).count();
            assert_eq!(whole, found.len(), "{place}: {found:?}");
            assert!(whole == 1 || !place.is_done, "{place}");
        };
        at_every_cut(|| tempfile::tempdir().unwrap(), work, check).unwrap();
    }

    #[test]
    fn a_state_that_cannot_be_written_is_told_before_anything_is_touched() {
        let missing = Path::new("/proc/nowhere");
        let error = LinkJournal::write(missing, CablingToken([1; 16]), Vec::new()).unwrap_err();
        assert!(error.to_string().contains("no link was touched"), "{error}");
    }
}
