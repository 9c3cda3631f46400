//! Lines that are put into a person's file, and taken out of it again to the last byte.

use crate::PublicKey;

/// What the user's own configuration begins with.
pub const INCLUDE: [&str; 3] = [
    "# crosstie trust: begin",
    "Include ~/.ssh/crosstie/config",
    "# crosstie trust: end",
];

/// Something is there and its last line does not end.
pub fn is_unterminated(text: &[u8]) -> bool {
    text.last().is_some_and(|byte| *byte != b'\n')
}

/// Adds lines at the end.
pub fn append(text: &[u8], lines: &[String]) -> Vec<u8> {
    let mut text = text.to_vec();
    for line in lines {
        if is_unterminated(&text) {
            text.push(b'\n');
        }
        text.extend_from_slice(line.as_bytes());
        text.push(b'\n');
    }
    text
}

/// Takes lines out.
pub fn remove<T: AsRef<str>>(text: &[u8], lines: &[T]) -> Vec<u8> {
    let is_ours = |line: &[u8]| lines.iter().any(|ours| ours.as_ref().as_bytes() == line);
    remove_where(text, is_ours, false)
}

/// Takes out every line of `authorized_keys` that lets one of these keys in, whatever its options and comment are, but
/// those of `kept`. `unterminated`: before [`append`] the last line did not end, and it shall not again, unless somebody
/// has written below it meanwhile.
pub fn remove_keys(
    text: &[u8],
    keys: &[&PublicKey],
    kept: &[String],
    unterminated: bool,
) -> Vec<u8> {
    let is_ours = |line: &[u8]| {
        let key = PublicKey::of_authorized_line(line);
        key.is_some_and(|key| keys.contains(&&key)) && !kept.contains(&shown(line))
    };
    remove_where(text, is_ours, unterminated)
}

/// The lines of `authorized_keys` that hold a key.
pub fn lines_with(text: &[u8], key: &PublicKey) -> Vec<String> {
    let lines = text.split(|byte| *byte == b'\n').map(bare);
    let lines = lines.filter(|line| PublicKey::of_authorized_line(line).as_ref() == Some(key));
    lines.map(shown).collect()
}

fn shown(line: &[u8]) -> String {
    String::from_utf8_lossy(line).into_owned()
}

fn remove_where(text: &[u8], is_ours: impl Fn(&[u8]) -> bool, unterminated: bool) -> Vec<u8> {
    let mut kept = Vec::with_capacity(text.len());
    let (mut removed, mut below) = (false, false);
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        if is_ours(bare(line)) {
            removed = true;
        } else {
            below |= removed;
            kept.extend_from_slice(line);
        }
    }
    if unterminated && removed && !below && kept.last() == Some(&b'\n') {
        kept.pop();
    }
    kept
}

/// Puts the include first, where no `Host` of the user's can hold it. It is not put twice.
pub fn with_include(text: &[u8]) -> Vec<u8> {
    let mut lines = text.split(|byte| *byte == b'\n');
    if lines.any(|line| bare(line) == INCLUDE[0].as_bytes()) {
        return text.to_vec();
    }
    let mut all = block().into_bytes();
    all.extend_from_slice(text);
    all
}

/// Takes the include out, also when somebody has put something between its lines.
pub fn without_include(text: &[u8]) -> Vec<u8> {
    let block = block();
    match text.strip_prefix(block.as_bytes()) {
        Some(rest) => rest.to_vec(),
        None => remove(text, &INCLUDE),
    }
}

fn block() -> String {
    format!("{}\n", INCLUDE.join("\n"))
}

/// Whether a key is let in without conditions.
pub fn lets_in(text: &[u8], key: &PublicKey) -> bool {
    let key = key.to_string();
    text.split(|byte| *byte == b'\n').any(|line| {
        let rest = line.strip_prefix(key.as_bytes());
        rest.is_some_and(|rest| rest.first().is_none_or(u8::is_ascii_whitespace))
    })
}

fn bare(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}
