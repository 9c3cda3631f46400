//! A capture as the bytes of a `.tar.gz`: the same bytes for the same capture, whoever packs it and when.

use std::{
    io::{self, Write},
    sync::atomic::AtomicU64,
};

use crosstie_facts::{CaptureEntry, RawCapture, raw::EMPTY_FOLDER_FILE};
use flate2::{Compression, write::GzEncoder};
use tar::{EntryType, Header};

use super::{COMMANDS, CaptureLoadError, META, ROOT, archive, build::CaptureBuilder, meta};

const BLOCK: usize = 512;

/// Longest folder name made of a host name, in bytes.
const MAX_FOLDER: usize = 64;

/// The capture as a `.tar.gz` in memory. [`unpack`] gives it back equal, as long as it keeps within the
/// [`limits`](super::limits).
pub fn pack(raw: &RawCapture) -> io::Result<Vec<u8>> {
    Ok(pack_into(raw, Vec::new())?.0)
}

/// Reads what [`pack`] made, or any other `.tar.gz` of a capture.
pub fn unpack(packed: &[u8]) -> Result<RawCapture, CaptureLoadError> {
    archive::load(packed, CaptureBuilder::new(&AtomicU64::new(0)), "capture")
}

/// Packs into a sink and gives it back, with the length of the stream before compression.
pub(super) fn pack_into<W: Write>(raw: &RawCapture, sink: W) -> io::Result<(W, u64)> {
    let mut packer = Packer {
        sink: GzEncoder::new(sink, Compression::default()),
        length: 0,
        modified: seconds_since_1970(&raw.meta.captured).unwrap_or(0),
        folder: folder(&raw.meta.host),
    };
    packer.file(META, meta::render(raw).as_bytes())?;
    for (name, entry) in raw.commands() {
        packer.entry(&format!("{COMMANDS}/{name}"), entry)?;
    }
    for (path, entry) in raw.tree() {
        packer.entry(&format!("{ROOT}/{path}"), entry)?;
    }
    packer.write(&[0; 2 * BLOCK])?;
    Ok((packer.sink.finish()?, packer.length))
}

struct Packer<W: Write> {
    sink: GzEncoder<W>,
    length: u64,
    modified: u64,
    folder: String,
}

impl<W: Write> Packer<W> {
    fn entry(&mut self, path: &str, entry: &CaptureEntry) -> io::Result<()> {
        match entry {
            CaptureEntry::File(bytes) => self.file(path, bytes),
            CaptureEntry::Link(target) => self.link(path, target),
            CaptureEntry::Directory => self.file(&format!("{path}/{EMPTY_FOLDER_FILE}"), &[]),
            // Stands in meta.toml.
            CaptureEntry::Gap(_) => Ok(()),
        }
    }

    fn file(&mut self, path: &str, bytes: &[u8]) -> io::Result<()> {
        let mut header = self.header(EntryType::Regular, 0o644, bytes.len());
        self.name(&mut header, path)?;
        self.block(&mut header, bytes)
    }

    fn link(&mut self, path: &str, target: &str) -> io::Result<()> {
        let mut header = self.header(EntryType::Symlink, 0o777, 0);
        if header.set_link_name_literal(target).is_err() {
            self.long(EntryType::GNULongLink, target)?;
        }
        self.name(&mut header, path)?;
        self.block(&mut header, &[])
    }

    fn name(&mut self, header: &mut Header, path: &str) -> io::Result<()> {
        let path = format!("{}/{path}", self.folder);
        if header.set_path(&path).is_err() {
            self.long(EntryType::GNULongName, &path)?;
        }
        Ok(())
    }

    /// A GNU record for a name or target that the next header has no room for.
    fn long(&mut self, kind: EntryType, text: &str) -> io::Result<()> {
        let mut bytes = text.as_bytes().to_vec();
        bytes.push(0);
        let mut header = self.header(kind, 0o644, bytes.len());
        let _ = header.set_path("././@LongLink");
        self.block(&mut header, &bytes)
    }

    fn header(&self, kind: EntryType, mode: u32, size: usize) -> Header {
        let mut header = Header::new_ustar();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_size(size as u64);
        header.set_mtime(self.modified);
        header.set_uid(0);
        header.set_gid(0);
        header
    }

    fn block(&mut self, header: &mut Header, content: &[u8]) -> io::Result<()> {
        header.set_cksum();
        self.write(header.as_bytes())?;
        self.write(content)?;
        let padding = content.len().wrapping_neg() % BLOCK;
        self.write(&[0; BLOCK][..padding])
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.length += bytes.len() as u64;
        self.sink.write_all(bytes)
    }
}

/// A host name as the folder that its capture unpacks to: a host may be called anything.
fn folder(host: &str) -> String {
    let plain = |character: char| {
        let keep = character.is_ascii_alphanumeric() || matches!(character, '.' | '-' | '_');
        if keep { character } else { '_' }
    };
    let name: String = host.chars().take(MAX_FOLDER).map(plain).collect();
    let name = name.trim_start_matches(['.', '-']);
    match name {
        // A folder of such a name would be taken for a capture's own.
        "" | ROOT | COMMANDS | META => "capture".to_owned(),
        name => name.to_owned(),
    }
}

/// Of an RFC 3339 time in UTC; tar cannot tell of times before 1970.
fn seconds_since_1970(time: &str) -> Option<u64> {
    let time: toml::value::Datetime = time.parse().ok()?;
    let (date, clock) = (time.date?, time.time?);
    if time.offset != Some(toml::value::Offset::Z) {
        return None;
    }
    // Days from the civil calendar, counted in years that start in March.
    let (year, month) = (i64::from(date.year), i64::from(date.month));
    let year = if month > 2 { year } else { year - 1 };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + i64::from(date.day) - 1;
    let leap_days = year / 4 - year / 100 + year / 400;
    let days = year * 365 + leap_days + day_of_year - DAYS_TO_1970;
    let of_day = i64::from(clock.hour) * 3600
        + i64::from(clock.minute) * 60
        + i64::from(clock.second.unwrap_or(0));
    u64::try_from(days * 86_400 + of_day).ok()
}

/// From 0000-03-01 to 1970-01-01 in the Gregorian calendar.
const DAYS_TO_1970: i64 = 719_468;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_counted_from_1970() {
        assert_eq!(seconds_since_1970("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(
            seconds_since_1970("2026-11-01T12:00:00Z"),
            Some(1_793_534_400)
        );
        assert_eq!(
            seconds_since_1970("2000-02-29T23:59:59Z"),
            Some(951_868_799)
        );
        for time in ["", "x", "1969-12-31T23:59:59Z", "2026-11-01T12:00:00+01:00"] {
            assert_eq!(seconds_since_1970(time), None, "{time}");
        }
    }

    #[test]
    fn any_host_makes_a_plain_folder() {
        for (host, expected) in [
            ("spark-a", "spark-a"),
            ("../../etc", "_.._etc"),
            ("root", "capture"),
            ("meta.toml", "capture"),
            ("", "capture"),
            ("....", "capture"),
            ("a b\n\u{1b}[2J", "a_b__[2J"),
        ] {
            let expected = expected.replace('[', "_");
            assert_eq!(folder(host), expected, "{host:?}");
        }
        assert_eq!(folder(&"x".repeat(500)).len(), MAX_FOLDER);
    }
}
