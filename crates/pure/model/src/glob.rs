//! Globs, as network managers and the allow-list write them.

/// `*` stands for any run of characters; everything else for itself.
pub fn glob_matches(glob: &str, name: &str) -> bool {
    let Some((first, rest)) = glob.split_once('*') else {
        return glob == name;
    };
    let Some(mut name) = name.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or("");
    for part in parts {
        let Some(at) = name.find(part) else {
            return false;
        };
        name = &name[at + part.len()..];
    }
    name.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_whole_names() {
        assert!(glob_matches("en*np*", "enp1s0f0np0"));
        assert!(glob_matches("*", ""));
        assert!(glob_matches("*.service", "opensm.service"));
        assert!(!glob_matches("*.service", "opensm.service.d"));
        assert!(!glob_matches("ab*ba", "aba"));
        assert!(!glob_matches("mtu", "mtu2"));
    }
}
