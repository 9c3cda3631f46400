//! The walk over the allow-list.

use std::collections::HashMap;

use memchr::memmem;

use super::{
    pattern::{PathComponent, expand},
    rules::{CollectRule, FileFilter, GROUPS, text},
    secret,
};
use crate::{
    raw::{CaptureEntry, RawCapture, ReadGap, resolve},
    source::FileTree,
};

/// A file that stands somewhere else on this machine, and is recorded where a rule has it: the home directory of
/// whoever runs the tool is nobody's business.
pub struct PathAlias {
    pub actual: String,
    pub recorded: &'static str,
}

/// Reads everything of a capture that the allow-list names.
pub fn collect_all(source: &dyn FileTree) -> RawCapture {
    let mut raw = RawCapture::default();
    for rules in GROUPS {
        raw.merge(read(source, rules.iter()));
    }
    raw
}

/// Reads what one group of rules names of a live machine.
pub fn collect_group(source: &dyn FileTree, rules: &[CollectRule]) -> RawCapture {
    read(source, rules.iter().filter(|rule| rule.live))
}

fn read<'a>(source: &dyn FileTree, rules: impl Iterator<Item = &'a CollectRule>) -> RawCapture {
    let release = source.read("proc/sys/kernel/osrelease").unwrap_or_default();
    let release = String::from_utf8_lossy(&release).trim().to_owned();
    let mut raw = RawCapture::default();
    let mut walk = Walk {
        source,
        raw: &mut raw,
        real: HashMap::new(),
    };
    for rule in rules {
        for path in expand(rule.path.replace("$release", &release)) {
            let components: Vec<PathComponent> = path.split('/').map(PathComponent::new).collect();
            walk.descend("", &components, rule.keep);
        }
    }
    raw
}

/// The entry for a file that stands somewhere else; `None` if it is not there.
pub fn alias(source: &dyn FileTree, alias: &PathAlias) -> Option<CaptureEntry> {
    let mut rules = GROUPS.into_iter().flatten();
    let rule = rules.find(|rule| rule.path == alias.recorded)?;
    match source.read(&alias.actual) {
        Ok(bytes) => rule.keep.apply(&bytes),
        Err(ReadGap::Absent) => None,
        Err(gap) => secret::guarded(CaptureEntry::Gap(gap)),
    }
}

struct Walk<'a> {
    source: &'a dyn FileTree,
    raw: &'a mut RawCapture,
    /// The kernel's directories already entered: path → path with every link followed.
    real: HashMap<String, Option<String>>,
}

/// Links on one way, as the kernel bounds them.
const MAX_LINKS: usize = 40;

/// In place of where a link leads.
const ELSEWHERE: &str = "/withheld";

/// How a file is hidden from systemd and its like.
const NOTHING: &str = "dev/null";

impl Walk<'_> {
    fn descend(&mut self, directory: &str, components: &[PathComponent], keep: FileFilter) {
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
            Err(ReadGap::Denied) => {
                self.insert(directory, CaptureEntry::Gap(ReadGap::Denied));
            }
            Err(_) => {}
        }
    }

    fn step(&mut self, path: &str, rest: &[PathComponent], keep: FileFilter) {
        if rest.is_empty() {
            self.take(path, keep);
        } else if is_kernels(path) {
            if let Some(real) = self.enter(path, 0) {
                self.descend(&real, rest, keep);
            }
        } else {
            let folder = self.folder(path);
            self.descend(&folder, rest, keep);
        }
    }

    /// Where a path of the kernel's leads once every link is followed, recording the links on the way.
    fn enter(&mut self, path: &str, links: usize) -> Option<String> {
        // sysfs and procfs lay their own directories without links.
        if path.starts_with("sys/devices/") || path.starts_with("proc/sys/") {
            return Some(path.to_owned());
        }
        if let Some(known) = self.real.get(path) {
            return known.clone();
        }
        let real = self.source.read_link(path).map_or_else(
            |_| Some(path.to_owned()),
            |target| {
                let parts = resolved(path, &target);
                let is_kept =
                    is_kernels(&parts) && self.insert(path, CaptureEntry::Link(target.clone()));
                is_kept.then_some(())?;
                let mut real = String::new();
                for part in parts.split('/') {
                    let next = join(&real, part);
                    real = (links < MAX_LINKS).then(|| self.enter(&next, links + 1))??;
                }
                Some(real)
            },
        );
        self.real.insert(path.to_owned(), real.clone());
        real
    }

    /// Where what is in a folder is recorded: at the folder's own path, whatever links lead there, since people lay such links and
    /// call by name what they lead to. Folders of libraries are told by the path that is theirs, so that each library counts once.
    fn folder(&mut self, path: &str) -> String {
        const LIBRARIES: &str = "usr/";
        if !path.starts_with(LIBRARIES) || self.source.read_link(path).is_err() {
            return path.to_owned();
        }
        let real = self.follow(path);
        let real = real.filter(|real| real.starts_with(LIBRARIES) && is_listed_folder(real));
        match real {
            Some(real) if self.insert(path, CaptureEntry::Link(format!("/{real}"))) => real,
            _ => path.to_owned(),
        }
    }

    /// Where a path leads once every link is followed. Nothing is recorded.
    fn follow(&self, path: &str) -> Option<String> {
        let mut left: Vec<String> = path.split('/').rev().map(str::to_owned).collect();
        let mut real = String::new();
        let mut links = 0;
        while let Some(part) = left.pop() {
            match part.as_str() {
                "" | "." => {}
                ".." => real.truncate(real.rfind('/').unwrap_or(0)),
                name => {
                    let next = join(&real, name);
                    let Ok(target) = self.source.read_link(&next) else {
                        real = next;
                        continue;
                    };
                    links += 1;
                    if links > MAX_LINKS {
                        return None;
                    }
                    if target.starts_with('/') {
                        real.clear();
                    }
                    left.extend(target.split('/').rev().map(str::to_owned));
                }
            }
        }
        Some(real)
    }

    /// Records an entry, unless a secret is all of it or part of its name. Whether it was recorded.
    fn insert(&mut self, path: &str, entry: CaptureEntry) -> bool {
        let guarded = secret::guarded(entry).filter(|_| !secret::is_secret_path(path));
        let is_kept = guarded.is_some();
        if let Some(entry) = guarded {
            self.raw.insert(path, entry);
        }
        is_kept
    }

    /// Records what a rule's last component names.
    fn take(&mut self, path: &str, keep: FileFilter) {
        match keep {
            FileFilter::Link | FileFilter::Name => match self.source.read_link(path) {
                Ok(target) => self.take_link(path, target),
                Err(_) if matches!(keep, FileFilter::Name) => self.take_name(path),
                Err(_) => {}
            },
            FileFilter::Access => match self.source.access(path) {
                Ok(()) => {
                    self.insert(path, CaptureEntry::File(Vec::new()));
                }
                Err(ReadGap::Denied) => {
                    self.insert(path, CaptureEntry::Gap(ReadGap::Denied));
                }
                Err(_) => {}
            },
            FileFilter::Gid => self.take_gid(path),
            FileFilter::Whole
            | FileFilter::Filtered(_)
            | FileFilter::Stanzas(_)
            | FileFilter::Private(_) => self.take_file(path, keep),
        }
    }

    /// A link that is a fact itself: sysfs names a driver by one, and libraries their version.
    fn take_link(&mut self, path: &str, target: String) {
        let real = resolved(path, &target);
        if !is_kernels(path) {
            let shown = shown_target(path, &real);
            self.insert(path, CaptureEntry::Link(shown));
        } else if is_kernels(&real) {
            self.insert(path, CaptureEntry::Link(target));
        }
    }

    fn take_file(&mut self, path: &str, keep: FileFilter) {
        let read = match keep {
            FileFilter::Stanzas(filter) => stanzas(self.source, path, filter),
            _ => self.source.read(path).map(|bytes| keep.apply(&bytes)),
        };
        match read {
            Ok(Some(entry)) => {
                self.insert(path, entry);
            }
            Ok(None) => {}
            // A driver that refuses an attribute does not have it.
            Err(ReadGap::Failed(_)) if path.starts_with("sys/") => {}
            Err(_) if self.is_hidden(path) => {
                self.insert(path, CaptureEntry::Link(format!("/{NOTHING}")));
            }
            // A link that leads nowhere still hides its namesakes.
            Err(ReadGap::Absent) => {
                let is_link = self.source.read_link(path).is_ok();
                if is_link && !is_kernels(path) && !matches!(keep, FileFilter::Private(_)) {
                    self.insert(path, CaptureEntry::Link(ELSEWHERE.to_owned()));
                }
            }
            Err(gap) => {
                // The name of a Wi-Fi profile is the name of someone's network.
                let place = match keep {
                    FileFilter::Private(_) => {
                        path.rsplit_once('/').map_or(path, |(parent, _)| parent)
                    }
                    _ => path,
                };
                self.insert(place, CaptureEntry::Gap(gap));
            }
        }
    }

    /// Whether someone has put a link to nothing in its place.
    fn is_hidden(&self, path: &str) -> bool {
        let is_link = !is_kernels(path) && self.source.read_link(path).is_ok();
        is_link && self.follow(path).is_some_and(|real| real == NOTHING)
    }

    fn take_name(&mut self, path: &str) {
        if let Ok(()) | Err(ReadGap::Denied) = self.source.access(path) {
            let directory = self.source.list(path).is_ok();
            let entry = if directory {
                CaptureEntry::Directory
            } else {
                CaptureEntry::File(Vec::new())
            };
            self.insert(path, entry);
        }
    }

    /// A GID table has hundreds of entries, nearly all empty; only the others have attributes worth a read each.
    fn take_gid(&mut self, path: &str) {
        let Ok(gid) = self.source.read(path) else {
            return;
        };
        let Some(CaptureEntry::File(gid)) = FileFilter::Gid.apply(&gid) else {
            return;
        };
        let is_empty = gid.iter().all(|byte| matches!(byte, b'0' | b':' | b'\n'));
        if is_empty || !self.insert(path, CaptureEntry::File(gid)) {
            return;
        }
        if let Some((port, index)) = path.rsplit_once("/gids/") {
            for attribute in ["types", "ndevs"] {
                self.take_file(
                    &format!("{port}/gid_attrs/{attribute}/{index}"),
                    FileFilter::Whole,
                );
            }
        }
    }
}

/// Of the trees that the kernel lays, links and all. Elsewhere, people may have laid a link.
fn is_kernels(path: &str) -> bool {
    path.starts_with("sys/") || path.starts_with("proc/")
}

/// Where a link at this path leads, other links not followed.
fn resolved(path: &str, target: &str) -> String {
    let directory: Vec<&str> = path.split('/').collect();
    resolve(&directory[..directory.len() - 1], target).join("/")
}

/// Whether a rule names something below a folder.
fn is_listed_folder(path: &str) -> bool {
    let names: Vec<&str> = path.split('/').collect();
    let rules = GROUPS.into_iter().flatten();
    let mut paths = rules.flat_map(|rule| expand(rule.path.replace("$release", "*")));
    paths.any(|rule| {
        let components: Vec<PathComponent> = rule.split('/').map(PathComponent::new).collect();
        let mut pairs = components.iter().zip(&names);
        components.len() > names.len() && pairs.all(|(component, name)| component.matches(name))
    })
}

/// What a capture tells of where a link leads: that it hides a file, or a library's version.
fn shown_target(path: &str, real: &str) -> String {
    if real == NOTHING {
        return format!("/{NOTHING}");
    }
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let (real_folder, real_name) = real.rsplit_once('/').unwrap_or(("", real));
    if !is_version_of(real_name, name) {
        ELSEWHERE.to_owned()
    } else if real_folder == folder {
        real_name.to_owned()
    } else {
        format!("{ELSEWHERE}/{real_name}")
    }
}

/// `libnccl.so.2.28.9` of `libnccl.so.2`
fn is_version_of(file: &str, library: &str) -> bool {
    const ENDING: &str = ".so";
    let stem = library.find(ENDING).map(|at| &library[..at + ENDING.len()]);
    let version = stem.and_then(|stem| file.strip_prefix(stem)?.strip_prefix('.'));
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    version.is_some_and(|version| version.split('.').all(is_number))
}

fn join(directory: &str, name: &str) -> String {
    if directory.is_empty() {
        name.to_owned()
    } else {
        format!("{directory}/{name}")
    }
}

/// What a filter keeps of a file of stanzas, in memory for a few of them at a time.
fn stanzas(
    source: &dyn FileTree,
    path: &str,
    filter: fn(&str) -> Option<String>,
) -> Result<Option<CaptureEntry>, ReadGap> {
    let mut kept: Option<String> = None;
    let mut keep = |stanzas: &[u8]| {
        if let Some(more) = filter(&text(stanzas)) {
            kept.get_or_insert_default().push_str(&more);
        }
    };
    let mut pending: Vec<u8> = Vec::new();
    source.read_pieces(path, &mut |piece| {
        pending.extend_from_slice(piece);
        if let Some(end) = memmem::rfind(&pending, b"\n\n") {
            keep(&pending[..end + 2]);
            pending.drain(..end + 2);
        }
    })?;
    keep(&pending);
    Ok(kept.map(|text| CaptureEntry::File(text.into_bytes())))
}

#[cfg(test)]
mod tests;
