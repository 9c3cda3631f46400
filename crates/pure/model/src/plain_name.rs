//! Names in commands that a person will paste, and in files.

use std::borrow::Cow;

/// One word for a POSIX shell, quoted where it has to be. A name from a node may hold anything; what no terminal
/// would show as it is, is replaced, so that nothing is pasted unseen.
pub fn word(text: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if !text.is_empty() && text.chars().all(plain) && !text.starts_with('-') {
        return Cow::Borrowed(text);
    }
    // Controls, and what makes a terminal show other letters than the shell reads.
    let hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    let shown: String = text
        .chars()
        .map(|c| if hidden(c) { '\u{fffd}' } else { c })
        .collect();
    let path = if shown.starts_with('-') { "./" } else { "" };
    Cow::Owned(format!("'{path}{}'", shown.replace('\'', r"'\''")))
}

/// A name that is safe in every format that we write: YAML, systemd's and `NetworkManager`'s files, sysctl.d,
/// nccl.conf, shells. The kernel would allow more; nobody's card is called so.
pub fn is_plain(name: &str) -> bool {
    let plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-' | b'@');
    let starts = name
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_alphanumeric());
    starts && name.len() <= 64 && name.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_needs_it_is_quoted() {
        assert_eq!(word("enp1s0f1np1"), "enp1s0f1np1");
        assert_eq!(word("a b"), "'a b'");
        assert_eq!(word("x'; reboot #"), r"'x'\''; reboot #'");
        assert_eq!(word("-rf"), "'./-rf'");
        assert_eq!(word(""), "''");
        assert_eq!(word("x; rm -rf ~"), "'x; rm -rf ~'");
        assert_eq!(word("$(id)"), "'$(id)'");
        assert_eq!(word("a\u{202e}b\n"), "'a\u{fffd}b\u{fffd}'");
    }
}
