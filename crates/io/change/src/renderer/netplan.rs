//! netplan. Never `netplan apply`: it takes management down for a moment, and brings up whatever else lies in `/etc/netplan`.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use crosstie_durable as durable;
use crosstie_model::{plan::InterfaceChange, renderer::Generator};
use crosstie_node::command;

use super::{ManagerPrograms, RendererControl};
use crate::error::ManagerError;

/// A folder into which it puts what it makes, and how the names of those files begin.
type MadeFiles = (&'static str, &'static str);

/// What managers read.
const MADE: [MadeFiles; 2] = [
    ("/run/systemd/network", "10-netplan-"),
    ("/run/NetworkManager/system-connections", "netplan-"),
];
/// udev's rules for ports that NetworkManager is to leave alone, or not. It writes them where it has any, and leaves the old
/// ones where it has none.
const UNMANAGED_PORTS: MadeFiles = ("/run/udev/rules.d", "90-netplan.rules");
/// Around the name of a file until there is another: nobody reads one that is hidden and ends like this.
const ASIDE: (&str, &str) = (".", ".crosstie~");
/// It is Python, on a machine that is still starting.
const RENDER_TIMEOUT: Duration = Duration::from_secs(90);

pub(super) struct Netplan;

fn generate(programs: &mut ManagerPrograms<'_>) {
    let generated = |programs: &mut ManagerPrograms<'_>| programs.run("netplan", &["generate"]);
    renew(Path::new("/"), &[UNMANAGED_PORTS], programs, |programs| {
        generated(programs).is_some()
    });
}

/// Without the old ones, `generate` makes these files anew. What it refuses is no reason that others' ports lose theirs, so
/// then the old ones are there again.
fn renew(
    root: &Path,
    made: &[MadeFiles],
    programs: &mut ManagerPrograms<'_>,
    generate: impl FnOnce(&mut ManagerPrograms<'_>) -> bool,
) {
    for (folder, prefix) in made {
        for path in files(&below(root, folder), prefix, "") {
            let aside = with_name(&path, |name| format!("{}{name}{}", ASIDE.0, ASIDE.1));
            // One that is there was set aside by a run that was killed, and what that one made since may be half of it.
            let done = if aside.exists() {
                durable::remove(&path).map(drop)
            } else {
                fs::rename(&path, &aside)
            };
            programs.note(done.map_err(cannot_remove(&path)));
        }
    }
    let is_generated = generate(programs);
    for (folder, prefix) in made {
        let hidden = format!("{}{prefix}", ASIDE.0);
        for aside in files(&below(root, folder), &hidden, ASIDE.1) {
            let done = if is_generated {
                durable::remove(&aside).map(drop)
            } else {
                let name = |name: &str| {
                    let name = name.strip_prefix(ASIDE.0).unwrap_or(name);
                    name.strip_suffix(ASIDE.1).unwrap_or(name).to_owned()
                };
                fs::rename(&aside, with_name(&aside, name))
            };
            programs.note(done.map_err(cannot_remove(&aside)));
        }
    }
}

fn below(root: &Path, folder: &str) -> PathBuf {
    root.join(folder.trim_start_matches('/'))
}

fn files(folder: &Path, prefix: &str, suffix: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let found = entries.filter(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        name.starts_with(prefix) && name.ends_with(suffix)
    });
    found.map(|entry| entry.path()).collect()
}

fn with_name(path: &Path, name: impl FnOnce(&str) -> String) -> PathBuf {
    let old = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(name(&old))
}

fn cannot_remove(path: &Path) -> impl FnOnce(io::Error) -> ManagerError {
    move |source| ManagerError::Generated {
        generator: Generator::Netplan.name(),
        path: path.display().to_string(),
        source,
    }
}

impl RendererControl for Netplan {
    /// The managers are told after it.
    fn reconfigure(&self, _changes: &[&InterfaceChange], programs: &mut ManagerPrograms<'_>) {
        generate(programs);
    }

    fn reread(&self, programs: &mut ManagerPrograms<'_>) {
        if command::find("netplan").is_some() {
            generate(programs);
        }
    }

    /// What its generator made of files that are no longer there goes.
    fn render_at_boot(&self, programs: &mut ManagerPrograms<'_>) {
        if command::find("netplan").is_none() {
            return;
        }
        let made: Vec<MadeFiles> = MADE.into_iter().chain([UNMANAGED_PORTS]).collect();
        renew(Path::new("/"), &made, programs, |programs| {
            let done = programs.run_within("netplan", &["generate"], RENDER_TIMEOUT);
            done.is_some()
        });
    }

    fn units(&self) -> &'static [&'static str] {
        &["netplan-configure.service"]
    }

    fn files(&self) -> &'static [&'static str] {
        &["/etc/netplan"]
    }

    fn profile(&self, interface: &str) -> String {
        format!("netplan-{interface}")
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, os::unix::fs::PermissionsExt};

    use super::*;

    const ALL: [MadeFiles; 3] = [MADE[0], MADE[1], UNMANAGED_PORTS];

    fn found(root: &Path) -> BTreeMap<String, (u32, String)> {
        let folders = ALL.iter().flat_map(|(folder, _)| {
            let entries = fs::read_dir(below(root, folder)).into_iter().flatten();
            entries.flatten().map(|entry| entry.path())
        });
        let files = folders.map(|path| {
            let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, (mode, fs::read_to_string(path).unwrap()))
        });
        files.collect()
    }

    fn write(root: &Path, path: &str, text: &str) {
        let path = below(root, path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    }

    fn made() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for name in [
            "/run/systemd/network/10-netplan-eth0.network",
            "/run/systemd/network/20-mine.network",
            "/run/NetworkManager/system-connections/netplan-eth1.nmconnection",
            "/run/udev/rules.d/90-netplan.rules",
        ] {
            write(root.path(), name, "old");
        }
        root
    }

    fn renewed(root: &Path, generate: impl FnOnce() -> bool) -> Vec<ManagerError> {
        let mut programs = ManagerPrograms::of_machine();
        renew(root, &ALL, &mut programs, |_| generate());
        programs.failed()
    }

    /// The management port's are among them.
    #[test]
    fn where_nothing_is_generated_the_old_files_are_there_again() {
        let root = made();
        let before = found(root.path());
        assert_eq!(before.len(), 4);
        let failed = renewed(root.path(), || {
            let names: Vec<String> = found(root.path()).into_keys().collect();
            let is_read = |name: &&String| !name.starts_with('.');
            let read: Vec<&String> = names.iter().filter(is_read).collect();
            assert_eq!(read, ["20-mine.network"]);
            false
        });
        assert!(failed.is_empty(), "{failed:?}");
        assert_eq!(found(root.path()), before);
        // A run that was killed meanwhile.
        let set_aside = below(
            root.path(),
            "/run/systemd/network/.10-netplan-eth0.network.crosstie~",
        );
        let file = "/run/systemd/network/10-netplan-eth0.network";
        fs::rename(below(root.path(), file), set_aside).unwrap();
        write(root.path(), file, "half");
        renewed(root.path(), || false);
        assert_eq!(found(root.path()), before);
    }

    #[test]
    fn what_is_not_generated_any_more_goes() {
        let root = made();
        renewed(root.path(), || {
            let path = "/run/systemd/network/10-netplan-eth2.network";
            write(root.path(), path, "new");
            true
        });
        let names: Vec<String> = found(root.path()).into_keys().collect();
        assert_eq!(names, ["10-netplan-eth2.network", "20-mine.network"]);
    }
}
