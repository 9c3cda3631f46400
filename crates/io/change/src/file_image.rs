//! A file as it was before a change, with everything that makes it the same file again.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    ffi::CString,
    fs::{self, File, OpenOptions, Permissions},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown, lchown},
    path::Path,
};

use crosstie_durable as durable;
use rustix::{
    fs::{
        AtFlags, CWD, OFlags, Timespec, Timestamps, XattrFlags, fgetxattr, flistxattr, fsetxattr,
        futimens, utimensat,
    },
    io::Errno,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::system_access::SystemAccess;

/// No configuration file comes near.
const MAX_FILE_BYTES: u64 = 16 << 20;
const MAX_ATTRIBUTE_BYTES: usize = 64 << 10;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileImage {
    pub(super) path: String,
    /// Nothing where there was no file.
    pub(super) before: Option<FileMetadata>,
    /// SHA-256 of what was there, and of what a change would leave there; `None` where nothing is.
    pub(super) sum: Option<String>,
    pub(super) after: Option<PlannedContent>,
}

/// The bytes of each image; nothing where there was no file.
pub(super) type ImageContents = Vec<Option<Vec<u8>>>;

/// What the change makes of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum PlannedContent {
    Sum(String),
    Gone,
}

impl PlannedContent {
    pub(super) fn of(found: Option<&CurrentFile>) -> Self {
        found.map_or(Self::Gone, |found| Self::Sum(found.sum()))
    }

    pub(super) fn matches(&self, found: Option<&CurrentFile>) -> bool {
        *self == Self::of(found)
    }
}

/// Everything about a file but its bytes, which lie beside the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FileMetadata {
    mode: u32,
    user: u32,
    group: u32,
    modified: (i64, i64),
    attributes: BTreeMap<String, Vec<u8>>,
    /// It is a link, and leads there.
    link: Option<String>,
}

/// A file as it is now.
pub(super) struct CurrentFile {
    pub(super) bytes: Vec<u8>,
    pub(super) metadata: FileMetadata,
}

impl CurrentFile {
    pub(super) fn mode(&self) -> u32 {
        self.metadata.mode
    }

    pub(super) fn sum(&self) -> String {
        sum(&self.content())
    }

    pub(super) fn link_target(&self) -> Option<&str> {
        self.metadata.link.as_deref()
    }

    /// What tells it from another; of a link, where it leads.
    pub(super) fn content(&self) -> Cow<'_, [u8]> {
        match self.link_target() {
            Some(target) => format!("link to {target}").into_bytes().into(),
            None => Cow::Borrowed(&self.bytes),
        }
    }
}

pub(super) fn sum(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

impl FileImage {
    /// Where the bytes of the image with this number are, beside the journal.
    pub(super) fn file(index: usize) -> String {
        format!("before-{index}")
    }

    pub(super) fn new(path: &str, found: Option<&CurrentFile>) -> Self {
        Self {
            path: path.to_owned(),
            before: found.map(|found| found.metadata.clone()),
            sum: found.map(CurrentFile::sum),
            after: None,
        }
    }

    pub(super) fn now(&self, system: &dyn SystemAccess) -> io::Result<Option<CurrentFile>> {
        read_current(&system.path(&self.path))
    }

    pub(super) fn matches_original(&self, found: Option<&CurrentFile>) -> bool {
        self.sum == found.map(CurrentFile::sum)
            && self.before.as_ref() == found.map(|found| &found.metadata)
    }

    /// Makes it what it was.
    pub(super) fn restore(&self, system: &dyn SystemAccess, saved: &Path) -> io::Result<()> {
        let path = system.path(&self.path);
        durable::remove(&durable::temporary_name(&path))?;
        let Some(metadata) = &self.before else {
            durable::remove_synced(system, &path)?;
            system.edge("a new file is removed again");
            return Ok(());
        };
        durable::make_folder(system, durable::parent_folder(&path), 0o755)?;
        if let Some(target) = &metadata.link {
            return metadata.restore_link(system, &path, target);
        }
        let bytes = durable::read_bounded(open(saved)?, MAX_FILE_BYTES)?;
        if self
            .sum
            .as_ref()
            .is_some_and(|wanted| *wanted != sum(&bytes))
        {
            let why = format!("its copy {} is damaged", saved.display());
            return Err(io::Error::other(why));
        }
        let written = durable::write_with_metadata(system, &path, &bytes, metadata.mode, |file| {
            metadata.apply_to(file)
        });
        match written {
            // The saved copy has its room already.
            Err(error) if durable::is_full(&error) => {
                durable::hard_link(system, saved, &path, |file| {
                    metadata.apply_to(file)?;
                    file.set_permissions(Permissions::from_mode(metadata.mode))
                })?;
            }
            other => other?,
        }
        // After the last write to it.
        let file = File::open(&path)?;
        futimens(&file, &metadata.times())?;
        Ok(())
    }
}

impl FileMetadata {
    /// Owner and attributes; not the mode, nor the times.
    pub(super) fn apply_to(&self, file: &File) -> io::Result<()> {
        fchown(file, Some(self.user), Some(self.group))?;
        for (name, value) in &self.attributes {
            fsetxattr(file, name.as_str(), value, XattrFlags::empty())?;
        }
        Ok(())
    }

    fn restore_link(&self, system: &dyn SystemAccess, path: &Path, target: &str) -> io::Result<()> {
        durable::symlink(system, Path::new(target), path, |link| {
            lchown(link, Some(self.user), Some(self.group))?;
            utimensat(CWD, link, &self.times(), AtFlags::SYMLINK_NOFOLLOW)?;
            Ok(())
        })
    }

    fn times(&self) -> Timestamps {
        let time = Timespec {
            tv_sec: self.modified.0,
            tv_nsec: self.modified.1,
        };
        Timestamps {
            last_access: time,
            last_modification: time,
        }
    }
}

/// What is at a path. Only plain files and links are anything that a change may replace.
pub(super) fn read_current(path: &Path) -> io::Result<Option<CurrentFile>> {
    let status = match fs::symlink_metadata(path) {
        Ok(status) => status,
        Err(error) if durable::is_absent(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut metadata = FileMetadata {
        mode: status.mode() & 0o7777,
        user: status.uid(),
        group: status.gid(),
        modified: (status.mtime(), status.mtime_nsec()),
        attributes: BTreeMap::new(),
        link: None,
    };
    if status.is_symlink() {
        let target = fs::read_link(path)?.into_os_string().into_string();
        metadata.link = Some(target.map_err(|_| io::Error::other("the link leads to no name"))?);
        return Ok(Some(CurrentFile {
            bytes: Vec::new(),
            metadata,
        }));
    }
    if !status.is_file() {
        return Err(io::Error::other("it is neither a file nor a link"));
    }
    let file = open(path)?;
    metadata.attributes = attributes(&file)?;
    Ok(Some(CurrentFile {
        bytes: durable::read_bounded(file, MAX_FILE_BYTES)?,
        metadata,
    }))
}

/// Copies a plain file of any size.
pub(super) fn copy(system: &dyn SystemAccess, from: &Path, to: &Path) -> io::Result<()> {
    let mut original = open(from)?;
    if !original.metadata()?.is_file() {
        return Err(io::Error::other("it is neither a file nor a link"));
    }
    let half_made = durable::temporary_name(to);
    durable::remove(&half_made)?;
    let copied = (|| {
        let mut options = OpenOptions::new();
        let mut copy = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&half_made)?;
        system.wrote(&half_made);
        io::copy(&mut original, &mut copy)?;
        system.sync(&copy, &half_made)?;
        durable::rename_synced(system, &half_made, to)
    })();
    copied.inspect_err(|_| {
        let _ = durable::remove(&half_made);
    })
}

/// Through no link, and without waiting for whoever writes to a pipe.
fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)
}

/// ACLs, capabilities, labels. File systems without them have none.
fn attributes(file: &File) -> io::Result<BTreeMap<String, Vec<u8>>> {
    let mut names = vec![0; MAX_ATTRIBUTE_BYTES];
    let length = match flistxattr(file, &mut names[..]) {
        Ok(length) => length,
        Err(Errno::NOTSUP) => 0,
        Err(errno) => return Err(errno.into()),
    };
    let mut found = BTreeMap::new();
    let names = names[..length].split(|byte| *byte == 0);
    for name in names.filter(|name| !name.is_empty()) {
        let name = CString::new(name)?;
        let mut value = vec![0; MAX_ATTRIBUTE_BYTES];
        let length = fgetxattr(file, &name, &mut value[..])?;
        value.truncate(length);
        let name = name.into_string().map_err(io::Error::other)?;
        found.insert(name, value);
    }
    Ok(found)
}
