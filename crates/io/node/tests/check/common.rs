//! Archives made by hand, as no well-behaved tool would make them, and a watch on the time.

use std::{io::Write, path::Path, sync::mpsc, thread, time::Duration};

use crosstie_facts::RawCapture;
use crosstie_node::capture::{CaptureLoadError, load};
use flate2::{Compression, write::GzEncoder};
use tar::{EntryType, Header};

pub(crate) fn fixtures() -> &'static Path {
    Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../fixtures/nodes"
    ))
}

pub(crate) fn load_one(path: &Path) -> Result<RawCapture, CaptureLoadError> {
    let mut loaded = load(path)?;
    assert_eq!(loaded.len(), 1, "{loaded:?}");
    loaded.remove(0).raw
}

/// Fails when the work takes longer than a user would wait. The slack is for busy machines and unoptimised builds.
pub(crate) fn in_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || sender.send(work()));
    receiver
        .recv_timeout(Duration::from_secs(30))
        .expect("it hangs, is far too slow, or panicked")
}

/// A `.tar.gz` in the making. Zeros come as gzip members of their own, repeated: a bomb is made in no time.
pub(crate) struct Archive {
    done: Vec<u8>,
    stream: GzEncoder<Vec<u8>>,
}

fn encoder() -> GzEncoder<Vec<u8>> {
    GzEncoder::new(Vec::new(), Compression::fast())
}

impl Archive {
    pub(crate) fn new() -> Self {
        Self {
            done: Vec::new(),
            stream: encoder(),
        }
    }

    /// With a capture's beginning, in the folder `node`.
    pub(crate) fn of_a_node() -> Self {
        Self::new().file("node/meta.toml", b"format = 1\nhost = \"node\"\n")
    }

    pub(crate) fn file(self, path: &str, content: &[u8]) -> Self {
        self.member(path.as_bytes(), EntryType::Regular, "", content)
    }

    pub(crate) fn link(self, path: &str, target: &str) -> Self {
        self.member(path.as_bytes(), EntryType::Symlink, target, &[])
    }

    pub(crate) fn member(self, path: &[u8], kind: EntryType, target: &str, content: &[u8]) -> Self {
        let padding = content.len().wrapping_neg() % 512;
        self.header(path, kind, target, content.len() as u64)
            .raw(content)
            .raw(&[0; 512][..padding])
    }

    /// A header that tells any size.
    pub(crate) fn header(self, path: &[u8], kind: EntryType, target: &str, size: u64) -> Self {
        let mut header = Header::new_gnu();
        header.as_old_mut().name[..path.len()].copy_from_slice(path);
        header.set_link_name_literal(target).unwrap();
        header.set_entry_type(kind);
        header.set_mode(0o644);
        header.set_size(size);
        header.set_cksum();
        self.raw(header.as_bytes())
    }

    pub(crate) fn raw(mut self, bytes: &[u8]) -> Self {
        self.stream.write_all(bytes).unwrap();
        self
    }

    pub(crate) fn zeros(mut self, mebibytes: usize) -> Self {
        let before = std::mem::replace(&mut self.stream, encoder());
        self.done.extend(before.finish().unwrap());
        let mut zeros = encoder();
        zeros.write_all(&vec![0; 1 << 20]).unwrap();
        self.done.extend(zeros.finish().unwrap().repeat(mebibytes));
        self
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        let Self { mut done, stream } = self.raw(&[0; 1024]);
        done.extend(stream.finish().unwrap());
        done
    }
}
