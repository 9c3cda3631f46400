//! The members of a tar stream, with nothing believed that it says about itself.
//!
//! Only the headers' layout comes from the `tar` crate: its iterator keeps long names of any length and follows sparse
//! maps.

use std::{
    borrow::Cow,
    io::{BufRead, Read},
};

use tar::{EntryType, Header};

use super::{
    CaptureLoadError,
    limits::{CaptureLimit, MAX_RECORD},
};

const BLOCK: u64 = 512;

/// One member. Its content, if it is of interest, is read from the stream next.
pub(super) struct TarMember {
    pub(super) kind: EntryType,
    /// Empty if it was too long to matter, as is the target.
    pub(super) path: Vec<u8>,
    pub(super) target: Vec<u8>,
    pub(super) size: u64,
}

pub(super) struct TarMembers<R> {
    stream: R,
    position: u64,
    /// Of the present member: content and padding not read yet.
    content: u64,
    padding: u64,
}

/// What the records before a member say about it.
#[derive(Default)]
struct Records {
    path: Option<Vec<u8>>,
    target: Option<Vec<u8>>,
}

impl<R: BufRead> TarMembers<R> {
    pub(super) fn new(stream: R) -> Self {
        Self {
            stream,
            position: 0,
            content: 0,
            padding: 0,
        }
    }

    /// The next member; `None` at the end, once the stream is read up and so its checksum verified.
    pub(super) fn next(&mut self) -> Result<Option<TarMember>, CaptureLoadError> {
        let mut records = Records::default();
        loop {
            self.skip_content()?;
            let Some(header) = self.header()? else {
                while self.skip_some(u64::MAX)? {}
                return Ok(None);
            };
            let size = header
                .entry_size()
                .map_err(|_| self.damaged("a member of unreadable size"))?;
            self.content = size;
            self.padding = size.wrapping_neg() % BLOCK;
            match header.entry_type() {
                EntryType::GNULongName => records.path = Some(self.long_name()?),
                EntryType::GNULongLink => records.target = Some(self.long_name()?),
                EntryType::XHeader => self.pax(&mut records)?,
                EntryType::XGlobalHeader => {}
                EntryType::GNUSparse => return Err(CaptureLoadError::Sparse),
                kind => return Ok(Some(member(kind, &header, records, size))),
            }
        }
    }

    /// The content of the present member. Memory grows with what is really there, not with what was announced.
    pub(super) fn read_content(&mut self) -> Result<Vec<u8>, CaptureLoadError> {
        let expected = self.content;
        let mut bytes = Vec::with_capacity(usize::try_from(expected.min(4096)).unwrap_or(0));
        let mut content = (&mut self.stream).take(expected);
        content.read_to_end(&mut bytes).map_err(stream_error)?;
        self.position += bytes.len() as u64;
        self.content -= bytes.len() as u64;
        if self.content > 0 {
            return Err(self.damaged("a member cut short"));
        }
        Ok(bytes)
    }

    fn header(&mut self) -> Result<Option<Header>, CaptureLoadError> {
        let mut header = Header::new_old();
        let mut read = 0;
        while read < header.as_bytes().len() {
            let count = self
                .stream
                .read(&mut header.as_mut_bytes()[read..])
                .map_err(stream_error)?;
            match (count, read) {
                (0, 0) => return Ok(None),
                (0, _) => return Err(self.damaged("a header cut short")),
                _ => read += count,
            }
        }
        let bytes = header.as_bytes();
        if bytes.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        // The checksum field itself counts as eight spaces (POSIX ustar).
        let sum_of = |bytes: &[u8]| bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>();
        let sum = sum_of(&bytes[..148]) + sum_of(&bytes[156..]) + 8 * u32::from(b' ');
        if header.cksum().ok() != Some(sum) {
            return Err(self.damaged("a header with a wrong checksum"));
        }
        self.position += BLOCK;
        Ok(Some(header))
    }

    fn skip_content(&mut self) -> Result<(), CaptureLoadError> {
        let mut left = self.content.saturating_add(self.padding);
        while left > 0 {
            let before = self.position;
            if !self.skip_some(left)? {
                return Err(self.damaged("a member cut short"));
            }
            left -= self.position - before;
        }
        (self.content, self.padding) = (0, 0);
        Ok(())
    }

    /// Passes over at most `most` bytes; false at the end of the stream.
    fn skip_some(&mut self, most: u64) -> Result<bool, CaptureLoadError> {
        let available = self.stream.fill_buf().map_err(stream_error)?.len();
        let count = usize::try_from(most).map_or(available, |most| most.min(available));
        self.stream.consume(count);
        self.position += count as u64;
        Ok(count > 0)
    }

    /// A GNU long name or long link target, which ends in a NUL.
    fn long_name(&mut self) -> Result<Vec<u8>, CaptureLoadError> {
        if self.content > MAX_RECORD {
            return Ok(Vec::new());
        }
        let mut name = self.read_content()?;
        let end = name.iter().position(|byte| *byte == 0);
        name.truncate(end.unwrap_or(name.len()));
        Ok(name)
    }

    fn pax(&mut self, records: &mut Records) -> Result<(), CaptureLoadError> {
        if self.content > MAX_RECORD {
            (records.path, records.target) = (Some(Vec::new()), Some(Vec::new()));
            return Ok(());
        }
        let bytes = self.read_content()?;
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let Some((key, value, after)) = pax_record(rest) else {
                return Err(self.damaged("an unreadable pax record"));
            };
            match key {
                b"path" => records.path = Some(value.to_vec()),
                b"linkpath" => records.target = Some(value.to_vec()),
                // Written for members of 8 GiB and more; the header alone then does not say where the next one is.
                b"size" => return Err(CaptureLimit::Stream.into()),
                key if key.starts_with(b"GNU.sparse.") => return Err(CaptureLoadError::Sparse),
                _ => {}
            }
            rest = after;
        }
        Ok(())
    }

    fn damaged(&self, what: &'static str) -> CaptureLoadError {
        CaptureLoadError::Tar {
            what,
            position: self.position,
        }
    }
}

fn member(kind: EntryType, header: &Header, records: Records, size: u64) -> TarMember {
    let of_header = || header.link_name_bytes().map(Cow::into_owned);
    let path = records
        .path
        .unwrap_or_else(|| header.path_bytes().into_owned());
    TarMember {
        // Before POSIX a trailing slash was what told a directory from a file.
        kind: match kind {
            EntryType::Regular | EntryType::Continuous if path.ends_with(b"/") => {
                EntryType::Directory
            }
            EntryType::Continuous => EntryType::Regular,
            kind => kind,
        },
        path,
        target: records.target.or_else(of_header).unwrap_or_default(),
        size,
    }
}

/// `LENGTH KEY=VALUE\n`, where the length is that of the whole record; and what follows it.
fn pax_record(bytes: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let space = bytes.iter().position(|byte| *byte == b' ')?;
    let length: usize = std::str::from_utf8(&bytes[..space]).ok()?.parse().ok()?;
    let (record, after) = bytes.split_at_checked(length)?;
    let record = record.get(space + 1..)?.strip_suffix(b"\n")?;
    let equals = record.iter().position(|byte| *byte == b'=')?;
    Some((&record[..equals], &record[equals + 1..], after))
}

fn stream_error(error: std::io::Error) -> CaptureLoadError {
    match error.downcast::<CaptureLimit>() {
        Ok(limit) => limit.into(),
        Err(error) => CaptureLoadError::Gzip(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pax_records_are_measured_not_split() {
        let bytes = b"16 path=a\nb=c d\n12 size=123\n";
        let (key, value, rest) = pax_record(bytes).unwrap();
        assert_eq!((key, value), (&b"path"[..], &b"a\nb=c d"[..]));
        assert_eq!(pax_record(rest).unwrap().0, b"size");
    }

    #[test]
    fn unreadable_pax_records_are_refused() {
        for bytes in [
            &b"99 path=a\n"[..],
            b"1 path=a\n",
            b"0 ",
            b"path=a\n",
            b"18446744073709551616 a=b\n",
            b"9 path=a",
            b"8 path.\n",
        ] {
            assert!(pax_record(bytes).is_none(), "{bytes:?}");
        }
    }
}
