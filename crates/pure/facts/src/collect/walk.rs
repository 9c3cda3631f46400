//! The walk over the allow-list.

use std::collections::HashMap;

use super::{
    pattern::{Component, expand},
    rules::{Keep, RULES},
};
use crate::{
    raw::{Entry, Gap, Raw, resolve},
    source::Source,
};

/// A file that stands somewhere else on this machine, and is recorded where a rule has it: the home directory of
/// whoever runs the tool is nobody's business.
pub struct Alias {
    pub actual: String,
    pub recorded: &'static str,
}

/// Reads everything that the rules name into `raw`.
pub fn tree(source: &dyn Source, aliases: &[Alias], raw: &mut Raw) {
    let release = source.read("proc/sys/kernel/osrelease").unwrap_or_default();
    let release = String::from_utf8_lossy(&release).trim().to_owned();
    let mut walk = Walk {
        source,
        raw,
        real: HashMap::new(),
    };
    for rule in RULES {
        for path in expand(rule.path.replace("$release", &release)) {
            let components: Vec<Component> = path.split('/').map(Component::new).collect();
            walk.descend("", &components, rule.keep);
        }
    }
    for alias in aliases {
        let rule = RULES.iter().find(|rule| rule.path == alias.recorded);
        let entry = match (rule, source.read(&alias.actual)) {
            (Some(rule), Ok(bytes)) => rule.keep.apply(&bytes),
            (_, Err(Gap::Absent)) | (None, _) => None,
            (_, Err(gap)) => Some(Entry::Gap(gap)),
        };
        if let Some(entry) = entry {
            walk.raw.insert(alias.recorded, entry);
        }
    }
}

struct Walk<'a> {
    source: &'a dyn Source,
    raw: &'a mut Raw,
    /// Directories already entered: path → path with every link followed.
    real: HashMap<String, Option<String>>,
}

impl Walk<'_> {
    fn descend(&mut self, directory: &str, components: &[Component], keep: Keep) {
        let Some((component, rest)) = components.split_first() else {
            return;
        };
        if let Some(names) = component.literals() {
            for name in names {
                self.step(&join(directory, name), rest, keep);
            }
            return;
        }
        match self.source.list(directory) {
            Ok(names) => {
                for name in names.iter().filter(|name| component.matches(name)) {
                    self.step(&join(directory, name), rest, keep);
                }
            }
            Err(Gap::Denied) => self.raw.insert(directory, Entry::Gap(Gap::Denied)),
            Err(_) => {}
        }
    }

    fn step(&mut self, path: &str, rest: &[Component], keep: Keep) {
        if rest.is_empty() {
            self.take(path, keep);
        } else if let Some(real) = self.enter(path, 0) {
            self.descend(&real, rest, keep);
        }
    }

    /// Where a path leads once every link is followed, recording the links on the way.
    fn enter(&mut self, path: &str, links: usize) -> Option<String> {
        const MAX_LINKS: usize = 40;
        if let Some(known) = self.real.get(path) {
            return known.clone();
        }
        let real = self.source.read_link(path).map_or_else(
            |_| Some(path.to_owned()),
            |target| {
                self.raw.insert(path, Entry::Link(target.clone()));
                let directory: Vec<&str> = path.split('/').collect();
                let parts = resolve(&directory[..directory.len() - 1], &target);
                let mut real = String::new();
                for part in parts {
                    let next = join(&real, part);
                    real = (links < MAX_LINKS).then(|| self.enter(&next, links + 1))??;
                }
                Some(real)
            },
        );
        self.real.insert(path.to_owned(), real.clone());
        real
    }

    /// Records what a rule's last component names.
    fn take(&mut self, path: &str, keep: Keep) {
        match keep {
            Keep::Link | Keep::Name => match self.source.read_link(path) {
                Ok(target) => self.raw.insert(path, Entry::Link(target)),
                Err(_) if matches!(keep, Keep::Name) => self.take_name(path),
                Err(_) => {}
            },
            Keep::Access => match self.source.access(path) {
                Ok(()) => self.raw.insert(path, Entry::File(Vec::new())),
                Err(Gap::Denied) => self.raw.insert(path, Entry::Gap(Gap::Denied)),
                Err(_) => {}
            },
            Keep::Gid => self.take_gid(path),
            Keep::Whole | Keep::Filtered(_) | Keep::Private(_) => {
                if let Some(real) = self.enter(path, 0) {
                    self.take_file(&real, keep);
                }
            }
        }
    }

    fn take_file(&mut self, path: &str, keep: Keep) {
        match self.source.read(path) {
            Ok(bytes) => {
                if let Some(entry) = keep.apply(&bytes) {
                    self.raw.insert(path, entry);
                }
            }
            Err(Gap::Absent) => {}
            // A driver that refuses an attribute does not have it.
            Err(Gap::Failed(_)) if path.starts_with("sys/") => {}
            Err(gap) => {
                // The name of a Wi-Fi profile is the name of someone's network.
                let place = match keep {
                    Keep::Private(_) => path.rsplit_once('/').map_or(path, |(parent, _)| parent),
                    _ => path,
                };
                self.raw.insert(place, Entry::Gap(gap));
            }
        }
    }

    fn take_name(&mut self, path: &str) {
        if let Ok(()) | Err(Gap::Denied) = self.source.access(path) {
            let directory = self.source.list(path).is_ok();
            let entry = if directory {
                Entry::Directory
            } else {
                Entry::File(Vec::new())
            };
            self.raw.insert(path, entry);
        }
    }

    /// A GID table has up to 256 entries, nearly all empty; only the others have attributes worth a read each.
    fn take_gid(&mut self, path: &str) {
        let Ok(gid) = self.source.read(path) else {
            return;
        };
        if gid.iter().all(|byte| matches!(byte, b'0' | b':' | b'\n')) {
            return;
        }
        self.raw.insert(path, Entry::File(gid));
        if let Some((port, index)) = path.rsplit_once("/gids/") {
            for attribute in ["types", "ndevs"] {
                self.take_file(
                    &format!("{port}/gid_attrs/{attribute}/{index}"),
                    Keep::Whole,
                );
            }
        }
    }
}

fn join(directory: &str, name: &str) -> String {
    if directory.is_empty() {
        name.to_owned()
    } else {
        format!("{directory}/{name}")
    }
}
