//! Where the text of a node comes from: the machine itself, or a capture of one.

use crate::raw::Gap;

/// Read access to a node's file tree. Paths have no leading slash: `sys/class/net`.
///
/// Implementations bound what they return: a file longer than [`MAX_FILE`] is a [`Gap::TooLarge`].
pub trait Source {
    fn read(&self, path: &str) -> Result<Vec<u8>, Gap>;

    /// The file piece by piece, for files too long to hold for the little that is kept of them.
    fn read_pieces(&self, path: &str, piece: &mut dyn FnMut(&[u8])) -> Result<(), Gap> {
        self.read(path).map(|bytes| piece(&bytes))
    }

    /// Names in a directory, sorted; symbolic links to directories count as directories.
    fn list(&self, path: &str) -> Result<Vec<String>, Gap>;

    /// The target of a symbolic link, as it is written; `Gap::Absent` if it is none.
    fn read_link(&self, path: &str) -> Result<String, Gap>;

    /// Whether something is there, and whether the user may open it for reading and writing.
    fn access(&self, path: &str) -> Result<(), Gap>;
}

/// The longest file worth reading: dpkg's status of a large machine stays below.
pub const MAX_FILE: u64 = 16 << 20;
