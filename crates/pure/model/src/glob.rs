//! Globs, as network managers and the allow-list write them.

/// `*` stands for any run of characters, `?` for any one, `[a-f]` for one of a set and `[!a-f]` for one outside it;
/// everything else for itself.
pub fn glob_matches(glob: &str, name: &str) -> bool {
    let (glob, name): (Vec<char>, Vec<char>) = (glob.chars().collect(), name.chars().collect());
    let (mut in_glob, mut in_name) = (0, 0);
    // Where to go on from when what follows the last star does not fit: the star takes one more character.
    let mut retry: Option<(usize, usize)> = None;
    while in_name < name.len() {
        if glob.get(in_glob) == Some(&'*') {
            retry = Some((in_glob, in_name));
            in_glob += 1;
        } else if let Some(length) = one(&glob[in_glob..], name[in_name]) {
            in_glob += length;
            in_name += 1;
        } else if let Some((star, taken)) = retry {
            retry = Some((star, taken + 1));
            (in_glob, in_name) = (star + 1, taken + 1);
        } else {
            return false;
        }
    }
    glob[in_glob..].iter().all(|left| *left == '*')
}

/// How many characters of the glob stand for this one, if they do.
fn one(glob: &[char], character: char) -> Option<usize> {
    match glob.first()? {
        '?' => Some(1),
        '[' => {
            let Some(end) = glob.iter().skip(2).position(|c| *c == ']').map(|at| at + 2) else {
                return (character == '[').then_some(1);
            };
            let negated = glob[1] == '!';
            let set = &glob[1 + usize::from(negated)..end];
            (in_set(set, character) != negated).then_some(end + 1)
        }
        plain => (*plain == character).then_some(1),
    }
}

fn in_set(mut set: &[char], character: char) -> bool {
    loop {
        set = match set {
            [first, '-', last, rest @ ..] => {
                if (*first..=*last).contains(&character) {
                    return true;
                }
                rest
            }
            [first, rest @ ..] => {
                if *first == character {
                    return true;
                }
                rest
            }
            [] => return false,
        };
    }
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

    #[test]
    fn single_characters_and_sets_match_as_in_a_shell() {
        assert!(glob_matches("enp?s0f[01]np*", "enp1s0f1np1"));
        assert!(!glob_matches("enp?s0f[01]np*", "enp1s0f2np1"));
        assert!(glob_matches("e[!t]*", "enp1") && !glob_matches("e[!t]*", "eth0"));
        assert!(glob_matches("[a-e]th", "eth") && !glob_matches("[a-d]th", "eth"));
        assert!(glob_matches("a[", "a[") && !glob_matches("?", ""));
        assert!(!glob_matches("*a*b*", &"a".repeat(5000)));
    }
}
