//! A capture in a `.tar.gz`, read as a stream and never unpacked.

use std::io::{BufRead, BufReader};

use crosstie_facts::{CaptureEntry, RawCapture, ReadGap, raw::clean, source::MAX_FILE};
use flate2::bufread::MultiGzDecoder;
use tar::EntryType;

use super::{
    CaptureLoadError,
    build::{CaptureBuilder, is_part},
    limits::{CaptureLimit, LimitedReader, MAX_PACKED, MAX_STREAM},
    tar::{TarMember, TarMembers},
};

/// Where in the archive the capture starts, as its first part shows.
enum Top {
    Unknown,
    Archive,
    Folder(String),
}

pub(super) fn load(
    packed: impl BufRead,
    mut builder: CaptureBuilder<'_>,
    stem: &str,
) -> Result<RawCapture, CaptureLoadError> {
    let packed = LimitedReader::new(packed, MAX_PACKED, CaptureLimit::Packed);
    let stream = LimitedReader::new(
        MultiGzDecoder::new(packed),
        MAX_STREAM,
        CaptureLimit::Stream,
    );
    let mut members = TarMembers::new(BufReader::with_capacity(64 << 10, stream));
    let mut top = Top::Unknown;
    while let Some(member) = members.next()? {
        builder.count()?;
        let Some(path) = usable(&member.path) else {
            continue;
        };
        let Some(path) = top.part(&path)? else {
            continue;
        };
        if let Some(entry) = entry(&mut members, member)? {
            builder.add(path, entry)?;
        }
    }
    builder.finish(stem)
}

/// The member's path, unless it is absolute, climbs or is not UTF-8.
fn usable(path: &[u8]) -> Option<String> {
    let path = std::str::from_utf8(path).ok()?;
    if path.starts_with('/') {
        return None;
    }
    clean(path)
}

/// Hard links, devices and FIFOs are nothing: what they stand for is outside.
fn entry<R: BufRead>(
    members: &mut TarMembers<R>,
    member: TarMember,
) -> Result<Option<CaptureEntry>, CaptureLoadError> {
    Ok(match member.kind {
        EntryType::Regular if member.size > MAX_FILE => Some(CaptureEntry::Gap(ReadGap::TooLarge)),
        EntryType::Regular => Some(CaptureEntry::File(members.read_content()?)),
        EntryType::Directory => Some(CaptureEntry::Directory),
        EntryType::Symlink => String::from_utf8(member.target)
            .ok()
            .map(CaptureEntry::Link),
        _ => None,
    })
}

impl Top {
    /// The path from the capture's top; `None` for what is not part of the capture.
    fn part<'a>(&mut self, path: &'a str) -> Result<Option<&'a str>, CaptureLoadError> {
        let (folder, below) = path.split_once('/').unwrap_or((path, ""));
        let in_archive = is_part(path);
        let in_folder = is_part(below);
        if matches!(self, Self::Unknown) {
            if in_archive {
                *self = Self::Archive;
            } else if in_folder {
                *self = Self::Folder(folder.to_owned());
            }
        }
        match self {
            Self::Archive if in_archive => Ok(Some(path)),
            Self::Folder(first) if first == folder => Ok(in_folder.then_some(below)),
            Self::Folder(first) if in_archive || in_folder => Err(CaptureLoadError::Several {
                first: first.clone(),
                second: if in_archive { "." } else { folder }.to_owned(),
            }),
            _ => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capture_is_found_at_the_top_or_in_one_folder() {
        let mut top = Top::Unknown;
        assert_eq!(top.part("spark").unwrap(), None);
        assert_eq!(top.part("spark/notes").unwrap(), None);
        assert_eq!(top.part("spark/root/etc").unwrap(), Some("root/etc"));
        assert_eq!(top.part("spark/meta.toml").unwrap(), Some("meta.toml"));
        assert_eq!(top.part("other/notes").unwrap(), None);
        assert!(matches!(
            top.part("other/cmd/x"),
            Err(CaptureLoadError::Several { .. })
        ));

        let mut top = Top::Unknown;
        assert_eq!(top.part("cmd/x").unwrap(), Some("cmd/x"));
        assert_eq!(top.part("spark/root/etc").unwrap(), None);
    }

    #[test]
    fn members_that_lead_out_have_no_path() {
        assert_eq!(usable(b"./a//b/").as_deref(), Some("a/b"));
        for path in [&b"/a"[..], b"a/../b", b"..", b"\xff", b"", b"."] {
            assert_eq!(usable(path), None, "{path:?}");
        }
    }
}
