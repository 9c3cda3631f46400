//! Words: how much of a line is kept once the line is.

/// The line up to the end of its first `count` words, as far as each of them passes.
pub(crate) fn leading(line: &str, count: usize, passes: impl Fn(&str) -> bool) -> &str {
    let words = line.split_whitespace().take(count);
    let last = words.take_while(|word| passes(word)).last();
    // A word is a part of its line, so the difference of their places is where it starts.
    let end = last.map_or(0, |word| {
        word.as_ptr() as usize - line.as_ptr() as usize + word.len()
    });
    &line[..end]
}

/// A name, a number, an address, a list of them: nothing in it starts a comment, a second assignment or a command.
pub(crate) fn is_plain(word: &str) -> bool {
    word.chars()
        .all(|letter| letter.is_alphanumeric() || ".:,-_+/()[]*%@~!?^".contains(letter))
}

/// As [`is_plain`], for descriptions that vendors wrote: they may hold an ampersand or an apostrophe.
pub(in crate::collect) fn is_description(word: &str) -> bool {
    let letters = word.chars().filter(|letter| !"&'<>".contains(*letter));
    !word.contains("&&") && is_plain(&letters.collect::<String>())
}

pub(super) fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// The first word of the text as a shell reads it, less its quotes, and what follows it. `None` if a quote stays open, or
/// if a shell would put something else in the word's place.
pub(super) fn shell_word(text: &str) -> Option<(String, &str)> {
    let mut word = String::new();
    let mut quote = None;
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match (quote, letter) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (None, '\'' | '"') => quote = Some(letter),
            (None | Some('"'), '$' | '`') => return None,
            (None, ';' | '&' | '|' | '<' | '>' | '(' | ')') => return Some((word, &text[at..])),
            (None, space) if space.is_whitespace() => return Some((word, &text[at..])),
            (None | Some('"'), '\\') => word.push(letters.next()?.1),
            _ => word.push(letter),
        }
    }
    quote.is_none().then_some((word, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_end_where_a_shell_ends_them() {
        for (text, word, rest) in [
            ("a b", "a", " b"),
            ("\"a b\"'c d';e", "a bc d", ";e"),
            ("a\\ b&&c", "a b", "&&c"),
            ("", "", ""),
        ] {
            assert_eq!(shell_word(text), Some((word.to_owned(), rest)), "{text}");
        }
        for text in ["\"a", "'", "$HOME", "\"$(x)\"", "`x`", "a\\"] {
            assert_eq!(shell_word(text), None, "{text}");
        }
    }

    #[test]
    fn leading_words_keep_the_space_between_them() {
        assert_eq!(leading("  a \t b # c", 9, is_plain), "  a \t b");
        assert_eq!(leading("a b c", 2, is_plain), "a b");
        assert_eq!(leading("# a", 2, is_plain), "");
    }
}
