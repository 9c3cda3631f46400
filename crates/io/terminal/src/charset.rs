//! What a terminal can show: where the locale is not UTF-8, ASCII alone.

use std::{borrow::Cow, env, sync::LazyLock};

static UTF_8: LazyLock<bool> = LazyLock::new(|| is_utf_8(|name| env::var(name).ok()));

/// POSIX: the first of these that is set and not empty counts.
fn is_utf_8(variable: impl Fn(&str) -> Option<String>) -> bool {
    let names = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter();
    let mut set = names.filter_map(variable).filter(|value| !value.is_empty());
    let locale = set.next().unwrap_or_default().to_lowercase();
    locale.ends_with("utf-8") || locale.contains("utf8") || locale.contains("utf-8")
}

/// What is written to a terminal. Every sign becomes one character, so that columns stay where they are.
pub(crate) fn for_terminal(text: &str) -> Cow<'_, str> {
    if *UTF_8 || text.is_ascii() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().map(ascii).collect())
}

fn ascii(sign: char) -> char {
    match sign {
        _ if sign.is_ascii() => sign,
        '✗' | '×' => 'x',
        '·' | '⋯' | '…' => '.',
        '•' | '●' => '*',
        '○' => 'o',
        '–' | '—' | '─' | '━' | '═' | '╌' => '-',
        '│' | '┃' | '║' => '|',
        '↔' => '=',
        '↺' => '@',
        'µ' | 'μ' => 'u',
        '‘' | '’' => '\'',
        '“' | '”' => '"',
        '→' | '≥' => '>',
        '←' | '≤' => '<',
        '✓' | '\u{2500}'..='\u{257f}' => '+',
        '\u{2580}'..='\u{259f}' => '#',
        _ => '?',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_variable_that_is_set_counts() {
        let locale = |values: [&str; 3]| {
            let names = ["LC_ALL", "LC_CTYPE", "LANG"];
            let values: Vec<(&str, &str)> = names.into_iter().zip(values).collect();
            is_utf_8(|name| {
                let found = values.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        assert!(locale(["", "", "de_DE.UTF-8"]));
        assert!(locale(["C.utf8", "", "C"]));
        assert!(!locale(["C", "de_DE.UTF-8", "de_DE.UTF-8"]));
        assert!(!locale(["", "", ""]));
    }

    #[test]
    fn signs_keep_their_width() {
        let text = "✓ a ↔ b ─┐ 3 µs … \u{1b}[1mx\u{1b}[0m";
        let shown: String = text.chars().map(ascii).collect();
        assert_eq!(shown, "+ a = b -+ 3 us . \u{1b}[1mx\u{1b}[0m");
    }
}
