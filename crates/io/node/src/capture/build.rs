//! Puts a capture's parts together, whichever way they were read.

use std::sync::atomic::AtomicU64;

use crosstie_facts::{
    CaptureEntry, RawCapture, ReadGap,
    raw::{EMPTY_FOLDER_FILE, clean},
};

use super::{
    COMMANDS, CaptureLoadError, META, ROOT,
    limits::{CaptureBudget, CaptureLimit, MAX_META},
    meta,
};

pub(super) struct CaptureBuilder<'a> {
    raw: RawCapture,
    meta: Option<Vec<u8>>,
    /// Directories seen; those that turn out empty become entries.
    directories: Vec<String>,
    budget: CaptureBudget<'a>,
    is_capture: bool,
}

/// Whether a path inside an archive or directory can belong to a capture that starts there.
pub(super) fn is_part(path: &str) -> bool {
    let first = path.split('/').next().unwrap_or(path);
    path == META || first == ROOT || first == COMMANDS
}

impl<'a> CaptureBuilder<'a> {
    pub(super) fn new(together: &'a AtomicU64) -> Self {
        Self {
            raw: RawCapture::default(),
            meta: None,
            directories: Vec::new(),
            budget: CaptureBudget::new(together),
            is_capture: false,
        }
    }

    /// Counts something that was met, whether or not it is kept.
    pub(super) fn count(&mut self) -> Result<(), CaptureLimit> {
        self.budget.entry()
    }

    /// Takes one part: a clean path that starts at the capture's top, such as `root/etc/hostname`.
    pub(super) fn add(&mut self, path: &str, entry: CaptureEntry) -> Result<(), CaptureLimit> {
        let content = match &entry {
            CaptureEntry::File(bytes) => bytes.len(),
            CaptureEntry::Link(target) => target.len(),
            CaptureEntry::Directory | CaptureEntry::Gap(_) => 0,
        };
        self.budget.store(path.len() + content)?;
        match path.split_once('/') {
            Some((ROOT, path)) => self.add_to_tree(path, entry),
            Some((COMMANDS, name)) => self.add_command(name, entry),
            None if path == META => return self.add_meta(entry),
            None if path == ROOT || path == COMMANDS => {
                self.is_capture |= entry == CaptureEntry::Directory;
                return Ok(());
            }
            _ => return Ok(()),
        }
        self.is_capture = true;
        Ok(())
    }

    fn add_to_tree(&mut self, path: &str, entry: CaptureEntry) {
        match entry {
            CaptureEntry::Directory => self.directories.push(path.to_owned()),
            CaptureEntry::File(_) if path == EMPTY_FOLDER_FILE => {}
            CaptureEntry::File(_) if path.ends_with("/.keep") => {
                let directory = &path[..path.len() - EMPTY_FOLDER_FILE.len() - 1];
                self.raw.insert(directory, CaptureEntry::Directory);
            }
            entry => self.raw.insert(path, entry),
        }
    }

    /// Anything below a command's name means that a directory took its place.
    fn add_command(&mut self, name: &str, entry: CaptureEntry) {
        match name.split_once('/') {
            None => self.raw.insert_command(name, entry),
            Some((name, _)) => self.raw.insert_command(name, CaptureEntry::Directory),
        }
    }

    fn add_meta(&mut self, entry: CaptureEntry) -> Result<(), CaptureLimit> {
        match entry {
            CaptureEntry::File(bytes) if bytes.len() as u64 <= MAX_META => {
                self.meta = Some(bytes);
                self.is_capture = true;
                Ok(())
            }
            CaptureEntry::File(_) | CaptureEntry::Gap(ReadGap::TooLarge) => Err(CaptureLimit::Meta),
            // As good as missing.
            CaptureEntry::Link(_) | CaptureEntry::Directory | CaptureEntry::Gap(_) => Ok(()),
        }
    }

    /// The capture, called after `stem` if nothing in it says what the host is called.
    pub(super) fn finish(mut self, stem: &str) -> Result<RawCapture, CaptureLoadError> {
        if !self.is_capture {
            return Err(CaptureLoadError::NotACapture);
        }
        let mut host = None;
        if let Some(bytes) = self.meta.take() {
            let parsed = meta::parse(&bytes)?;
            for (path, gap) in parsed.gaps() {
                self.budget.entry()?;
                self.budget.store(path.len())?;
                self.add_gap(path, gap);
            }
            host = parsed.host;
            self.raw.meta.captured = parsed.captured;
            self.raw.meta.root_refused = parsed.root_refused;
        }
        self.add_empty_directories();
        let host = host
            .or_else(|| self.hostname())
            .unwrap_or_else(|| stem.to_owned());
        self.raw.meta.host = host;
        self.budget.keep();
        Ok(self.raw)
    }

    fn hostname(&self) -> Option<String> {
        let text = self.raw.text("etc/hostname").into_known()?;
        let line = text.lines().next()?.trim();
        (!line.is_empty()).then(|| line.to_owned())
    }

    /// A note that something is missing does not displace what is there.
    fn add_gap(&mut self, path: &str, gap: ReadGap) {
        let Some(path) = clean(path) else {
            return;
        };
        match path.split_once('/') {
            Some((ROOT, path)) if self.raw.entry(path).is_none() => {
                self.raw.insert(path, CaptureEntry::Gap(gap));
            }
            Some((COMMANDS, name)) if self.raw.command_entry(name).is_none() => {
                self.raw.insert_command(name, CaptureEntry::Gap(gap));
            }
            _ => {}
        }
    }

    fn add_empty_directories(&mut self) {
        // Deepest first: a directory that holds an empty one is not empty itself.
        self.directories.sort_unstable_by(|a, b| b.cmp(a));
        for directory in &self.directories {
            if !self.raw.holds(directory) {
                self.raw.insert(directory, CaptureEntry::Directory);
            }
        }
    }
}
