//! Where the text of a node comes from: the machine itself, or a capture of one.

use crate::raw::ReadGap;

/// Read access to a node's file tree. Paths have no leading slash: `sys/class/net`.
///
/// Implementations bound what they return: a file longer than [`MAX_FILE`] is a [`ReadGap::TooLarge`].
pub trait FileTree {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadGap>;

    /// The file piece by piece, for files too long to hold for the little that is kept of them.
    fn read_pieces(&self, path: &str, piece: &mut dyn FnMut(&[u8])) -> Result<(), ReadGap> {
        self.read(path).map(|bytes| piece(&bytes))
    }

    /// Names in a directory, sorted; symbolic links to directories count as directories.
    fn list(&self, path: &str) -> Result<Vec<String>, ReadGap>;

    /// The target of a symbolic link, as it is written; `ReadGap::Absent` if it is none.
    fn read_link(&self, path: &str) -> Result<String, ReadGap>;

    /// Whether something is there, and whether the user may open it for reading and writing.
    fn access(&self, path: &str) -> Result<(), ReadGap>;
}

/// The longest file worth reading: dpkg's status of a large machine stays below.
pub const MAX_FILE: u64 = 16 << 20;
