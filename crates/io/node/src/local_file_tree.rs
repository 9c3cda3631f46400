//! This machine's own file tree.

use std::{
    fs,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
};

use crosstie_facts::{FileTree, ReadGap, source::MAX_FILE};
use rustix::{
    fs::{Access, AtFlags, CWD, FileType, Mode, OFlags},
    io::Errno,
};

/// More names than any directory that collection lists has.
const MAX_NAMES: usize = 1 << 16;

/// What sysfs gives for one attribute at most: a page, and a file that is shorter ends with its first read.
const PAGE: usize = 4096;

/// A file tree on this machine: its own root, or one below a directory.
#[derive(Debug, Clone)]
pub struct LocalFileTree {
    root: PathBuf,
}

impl LocalFileTree {
    /// The machine itself.
    pub fn machine() -> Self {
        Self::at("/")
    }

    /// A tree below `root`. Links in it are followed as the kernel does, absolute ones from `/`.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Below `/sys` and `/proc` of the machine there are neither pipes nor device nodes, so nothing needs a look
    /// before it is opened.
    fn is_kernel_file(&self, path: &str) -> bool {
        self.root == Path::new("/") && (path.starts_with("sys/") || path.starts_with("proc/"))
    }

    /// Opens what cannot keep us waiting: a regular file.
    fn open(&self, path: &str) -> Result<OwnedFd, ReadGap> {
        let full = self.full(path)?;
        if !self.is_kernel_file(path) {
            let mode = rustix::fs::stat(&full).map_err(gap)?.st_mode;
            match FileType::from_raw_mode(mode) {
                FileType::RegularFile => {}
                FileType::Directory => return Err(gap(Errno::ISDIR)),
                _ => return Err(ReadGap::Failed("neither a file nor a directory".to_owned())),
            }
        }
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
        rustix::fs::open(&full, flags, Mode::empty()).map_err(gap)
    }

    fn full(&self, path: &str) -> Result<PathBuf, ReadGap> {
        // `Path::join` would let an absolute path replace the root.
        let path = path.trim_start_matches('/');
        if path.contains('\0') || path.split('/').any(|part| part == "..") {
            return Err(ReadGap::Absent);
        }
        Ok(self.root.join(path))
    }
}

/// Reads on to the end, if that comes within `left` bytes.
fn pieces(
    file: &OwnedFd,
    mut left: u64,
    buffer: &mut [u8],
    piece: &mut dyn FnMut(&[u8]),
) -> Result<(), ReadGap> {
    loop {
        let length = read(file, buffer)?;
        if length == 0 {
            return Ok(());
        }
        left = left.checked_sub(length as u64).ok_or(ReadGap::TooLarge)?;
        piece(&buffer[..length]);
    }
}

impl FileTree for LocalFileTree {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadGap> {
        let file = self.open(path)?;
        let mut page = [0; PAGE];
        let length = read(&file, &mut page)?;
        let mut bytes = page[..length].to_vec();
        // An attribute of sysfs comes with one read.
        if self.is_kernel_file(path) && path.starts_with("sys/") && length < PAGE {
            return Ok(bytes);
        }
        let left = MAX_FILE.saturating_sub(length as u64);
        pieces(&file, left, &mut page, &mut |piece| {
            bytes.extend_from_slice(piece);
        })?;
        Ok(bytes)
    }

    fn read_pieces(&self, path: &str, piece: &mut dyn FnMut(&[u8])) -> Result<(), ReadGap> {
        pieces(&self.open(path)?, MAX_FILE, &mut vec![0; 16 * PAGE], piece)
    }

    fn list(&self, path: &str) -> Result<Vec<String>, ReadGap> {
        let directory = fs::read_dir(self.full(path)?).map_err(|error| gap_of(&error))?;
        let mut names = Vec::new();
        for entry in directory {
            let entry = entry.map_err(|error| gap_of(&error))?;
            // A name that is not UTF-8 cannot be asked for again: paths are text.
            if let Ok(name) = entry.file_name().into_string() {
                names.push(name);
            }
            if names.len() > MAX_NAMES {
                return Err(ReadGap::TooLarge);
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn read_link(&self, path: &str) -> Result<String, ReadGap> {
        let target = match fs::read_link(self.full(path)?) {
            Ok(target) => target,
            Err(error) if error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => {
                return Err(ReadGap::Absent);
            }
            Err(error) => return Err(gap_of(&error)),
        };
        target
            .into_os_string()
            .into_string()
            .map_err(|_| ReadGap::Failed("the target of the link is not UTF-8".to_owned()))
    }

    fn access(&self, path: &str) -> Result<(), ReadGap> {
        let wanted = Access::READ_OK | Access::WRITE_OK;
        rustix::fs::accessat(CWD, self.full(path)?, wanted, AtFlags::EACCESS).map_err(gap)
    }
}

fn read(file: &rustix::fd::OwnedFd, buffer: &mut [u8]) -> Result<usize, ReadGap> {
    rustix::io::retry_on_intr(|| rustix::io::read(file, &mut *buffer)).map_err(gap)
}

/// Why a system call did not read what it was asked for.
pub(crate) fn gap(errno: Errno) -> ReadGap {
    match errno {
        Errno::NOENT | Errno::NOTDIR => ReadGap::Absent,
        Errno::ACCESS | Errno::PERM => ReadGap::Denied,
        other => ReadGap::Failed(std::io::Error::from(other).to_string()),
    }
}

fn gap_of(error: &std::io::Error) -> ReadGap {
    Errno::from_io_error(error).map_or_else(|| ReadGap::Failed(error.to_string()), gap)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn tree() -> (tempfile::TempDir, LocalFileTree) {
        let directory = tempfile::tempdir().unwrap();
        let local = LocalFileTree::at(directory.path());
        (directory, local)
    }

    #[test]
    fn files_links_and_names_are_read() {
        let (directory, local) = tree();
        fs::create_dir(directory.path().join("sys")).unwrap();
        fs::write(directory.path().join("sys/b"), vec![b'x'; 100_000]).unwrap();
        fs::write(directory.path().join("sys/a"), "9000\n").unwrap();
        fs::write(directory.path().join("sys/empty"), "").unwrap();
        symlink("../a", directory.path().join("sys/link")).unwrap();
        assert_eq!(local.read("sys/a").unwrap(), b"9000\n");
        assert_eq!(local.read("sys/b").unwrap().len(), 100_000);
        assert_eq!(local.read("sys/empty").unwrap(), b"");
        assert_eq!(local.list("sys").unwrap(), ["a", "b", "empty", "link"]);
        assert_eq!(local.read_link("sys/link").unwrap(), "../a");
        assert_eq!(local.read_link("sys/a"), Err(ReadGap::Absent));
        assert_eq!(local.access("sys/a"), Ok(()));
    }

    #[test]
    fn gaps_have_their_reasons() {
        let (directory, local) = tree();
        fs::write(directory.path().join("file"), "x").unwrap();
        let huge = fs::File::create(directory.path().join("huge")).unwrap();
        huge.set_len(MAX_FILE + 1).unwrap();
        assert_eq!(local.read("nothing"), Err(ReadGap::Absent));
        assert_eq!(local.read("file/below"), Err(ReadGap::Absent));
        assert_eq!(local.list("nothing"), Err(ReadGap::Absent));
        assert_eq!(local.access("nothing"), Err(ReadGap::Absent));
        assert_eq!(local.read("huge"), Err(ReadGap::TooLarge));
        assert_eq!(
            local.read(""),
            Err(ReadGap::Failed("Is a directory (os error 21)".to_owned()))
        );
        assert_eq!(local.read("../etc/passwd"), Err(ReadGap::Absent));
        assert_eq!(local.read("a\0b"), Err(ReadGap::Absent));
    }

    #[test]
    fn pipes_and_devices_are_not_opened() {
        let (directory, local) = tree();
        let pipe = directory.path().join("pipe");
        rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
        symlink("/dev/zero", directory.path().join("zero")).unwrap();
        assert!(matches!(local.read("pipe"), Err(ReadGap::Failed(_))));
        assert!(matches!(local.read("zero"), Err(ReadGap::Failed(_))));
    }

    #[test]
    fn denied_is_told_from_absent() {
        let (directory, local) = tree();
        let file = directory.path().join("secret");
        fs::write(&file, "x").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).unwrap();
        if rustix::process::geteuid().is_root() {
            assert_eq!(local.read("secret"), Ok(b"x".to_vec()));
        } else {
            assert_eq!(local.read("secret"), Err(ReadGap::Denied));
            assert_eq!(local.access("secret"), Err(ReadGap::Denied));
        }
        assert_eq!(gap(Errno::ACCESS), ReadGap::Denied);
        assert_eq!(
            gap(Errno::INVAL),
            ReadGap::Failed("Invalid argument (os error 22)".to_owned())
        );
    }

    #[test]
    fn the_kernels_files_are_read_whole() {
        let machine = LocalFileTree::machine();
        let whole = fs::read("/proc/filesystems").unwrap();
        assert_eq!(machine.read("proc/filesystems").unwrap(), whole);
        assert_eq!(machine.read("sys/class/net/lo/mtu").unwrap(), b"65536\n");
        assert!(
            machine
                .list("sys/class/net")
                .unwrap()
                .contains(&"lo".to_owned())
        );
    }
}
