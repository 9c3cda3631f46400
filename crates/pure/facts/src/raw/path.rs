//! Paths inside a node's tree: plain names joined by slashes.

/// The path with empty and `.` components removed; `None` if it climbs (`..`), is empty, or holds a NUL.
pub fn clean(path: &str) -> Option<String> {
    let parts: Vec<&str> = path
        .split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .collect();
    let climbs = parts.contains(&"..");
    (!parts.is_empty() && !climbs && !path.contains('\0')).then(|| parts.join("/"))
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
    fn targets_never_leave_the_tree() {
        assert_eq!(
            resolve(&["sys", "class"], "../../../../etc/shadow"),
            ["etc", "shadow"]
        );
        assert_eq!(resolve(&["sys"], "/proc/self"), ["proc", "self"]);
    }
}
