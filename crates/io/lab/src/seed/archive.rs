//! A tar archive of small files.

use tar::{Builder, EntryType, Header};

const USER: u64 = 1000;

pub(super) struct SeedArchive {
    builder: Builder<Vec<u8>>,
    owner: u64,
}

impl SeedArchive {
    pub(super) fn new() -> Self {
        Self {
            builder: Builder::new(Vec::new()),
            owner: 0,
        }
    }

    pub(super) fn owned_by_user(&mut self) {
        self.owner = USER;
    }

    pub(super) fn owned_by_root(&mut self) {
        self.owner = 0;
    }

    pub(super) fn file(
        &mut self,
        path: &str,
        mode: u32,
        text: impl AsRef<[u8]>,
    ) -> std::io::Result<()> {
        let bytes = text.as_ref();
        let mut header = self.header(EntryType::Regular, mode);
        header.set_size(bytes.len() as u64);
        self.builder.append_data(&mut header, path, bytes)
    }

    pub(super) fn directory(&mut self, path: &str, mode: u32) -> std::io::Result<()> {
        let mut header = self.header(EntryType::Directory, mode);
        self.builder
            .append_data(&mut header, format!("{path}/"), std::io::empty())
    }

    pub(super) fn symlink(&mut self, path: &str, target: &str) -> std::io::Result<()> {
        let mut header = self.header(EntryType::Symlink, 0o777);
        self.builder.append_link(&mut header, path, target)
    }

    pub(super) fn finish(self) -> std::io::Result<Vec<u8>> {
        self.builder.into_inner()
    }

    fn header(&self, kind: EntryType, mode: u32) -> Header {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_uid(self.owner);
        header.set_gid(self.owner);
        header.set_size(0);
        header
    }
}
