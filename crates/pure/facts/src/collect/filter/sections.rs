//! INI-like files: sections, keys and values.

use super::{
    is_comment,
    word::{is_plain, leading},
};

/// Every line that is no comment, with the section that it is in. A heading is in its own.
pub(crate) fn in_sections(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut section = "";
    let plain = text.lines().filter(|line| !is_comment(line));
    plain.map(move |line| {
        let line = line.trim();
        if line.starts_with('[') {
            // What stands below a heading that cannot be read belongs to no section that is listed.
            section = heading(line).unwrap_or("");
        }
        (section, line)
    })
}

fn heading(line: &str) -> Option<&str> {
    line.strip_prefix('[')?.strip_suffix(']')
}

/// How much of a value is kept.
#[derive(Clone, Copy)]
pub(crate) enum Kept {
    Nothing,
    Word,
    /// Divided by semicolons, as NetworkManager's are.
    List,
    Words,
    Addresses,
}

impl Kept {
    fn of(self, value: &str) -> &str {
        let is_address = |word: &str| {
            word.bytes()
                .all(|byte| byte.is_ascii_hexdigit() || b":./,;".contains(&byte))
        };
        let is_list = |word: &str| word.split(';').all(is_plain);
        match self {
            Self::Nothing => "",
            Self::Word => leading(value, 1, is_plain),
            Self::List => leading(value, 1, is_list),
            Self::Words => leading(value, usize::MAX, is_plain),
            Self::Addresses => leading(value, usize::MAX, is_address),
        }
    }
}

/// Keeps the lines of allow-listed sections, by section and key. A heading has no key.
pub(crate) fn sections(text: &str, keep: impl Fn(&str, &str) -> Kept) -> Option<String> {
    let mut kept = String::new();
    for (section, line) in in_sections(text) {
        if line.starts_with('[') {
            let listed = heading(line).is_some() && !matches!(keep(section, ""), Kept::Nothing);
            if listed {
                kept.extend(["[", section, "]\n"]);
            }
            continue;
        }
        let Some((key, value)) = line.split_once('=') else {
            continue;
        };
        let (key, rule) = (key.trim(), keep(section, key.trim()));
        let found = rule.of(value.trim());
        let listed = !key.is_empty() && is_plain(key) && !matches!(rule, Kept::Nothing);
        if listed && (!found.is_empty() || value.trim().is_empty()) {
            kept.extend([key, "=", found, "\n"]);
        }
    }
    (!kept.is_empty()).then_some(kept)
}
