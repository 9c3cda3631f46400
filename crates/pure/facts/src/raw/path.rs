//! Paths inside a node's tree: plain names joined by slashes.

/// Longest path kept, in bytes. sysfs stays below a third of it behind four PCI switches.
pub const MAX_PATH: usize = 1024;

/// Deepest path kept, in names: loaders recurse by it.
pub const MAX_DEPTH: usize = 64;

/// Longest single name, in bytes (`NAME_MAX` in linux/limits.h): no file system could hold a longer one.
pub const MAX_NAME: usize = 255;

/// Longest link target, in bytes (`PATH_MAX` in linux/limits.h).
pub const MAX_TARGET: usize = 4096;

/// The name of the file that stands for an otherwise empty directory in a capture, as git and tar lose such
/// directories. Nothing in a tree can be called so.
pub const EMPTY_FOLDER_FILE: &str = ".keep";

/// The path with empty and `.` components removed; `None` if it climbs (`..`), is empty, or holds a NUL.
pub fn clean(path: &str) -> Option<String> {
    if path.contains('\0') {
        return None;
    }
    // Nearly every path is clean as it comes, and a thousand captures have half a million.
    if names(path).all(|name| !matches!(name, b"" | b"." | b"..")) {
        return Some(path.to_owned());
    }
    let parts: Vec<&str> = path
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    let climbs = parts.contains(&"..");
    (!parts.is_empty() && !climbs).then(|| parts.join("/"))
}

/// Whether a capture on disk can hold an entry at this clean path.
pub(super) fn fits(path: &str) -> bool {
    let mut depth = 0;
    path.len() <= MAX_PATH
        && names(path).all(|name| {
            depth += 1;
            depth <= MAX_DEPTH && name.len() <= MAX_NAME && name != EMPTY_FOLDER_FILE.as_bytes()
        })
}

fn names(path: &str) -> impl Iterator<Item = &[u8]> {
    path.as_bytes().split(|byte| *byte == b'/')
}

/// The components of a link's target, seen from the directory the link stands in. `..` at the top stays at the top,
/// as it does at `/` on a real machine.
pub(crate) fn resolve<'a>(directory: &[&'a str], target: &'a str) -> Vec<&'a str> {
    let mut parts = if target.starts_with('/') {
        Vec::new()
    } else {
        directory.to_vec()
    };
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            name => parts.push(name),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn climbing_paths_are_refused() {
        assert_eq!(clean("./sys//class/"), Some("sys/class".to_owned()));
        assert_eq!(clean("/etc/hosts"), Some("etc/hosts".to_owned()));
        assert_eq!(clean("sys/../../etc"), None);
        assert_eq!(clean("/"), None);
        assert_eq!(clean("a\0b"), None);
    }

    #[test]
    fn only_what_a_capture_can_hold_fits() {
        assert!(fits("sys/class/net/eth0"));
        assert!(!fits("a/.keep"));
        assert!(!fits("a/.keep/b"));
        assert!(fits(&vec!["a"; MAX_DEPTH].join("/")));
        assert!(!fits(&vec!["a"; MAX_DEPTH + 1].join("/")));
        assert!(!fits(&"a".repeat(MAX_NAME + 1)));
        assert!(!fits(&vec!["a".repeat(200); 6].join("/")));
    }

    #[test]
    fn targets_never_leave_the_tree() {
        assert_eq!(
            resolve(&["sys", "class"], "../../../../etc/shadow"),
            ["etc", "shadow"]
        );
        assert_eq!(resolve(&["sys"], "/proc/self"), ["proc", "self"]);
    }
}
