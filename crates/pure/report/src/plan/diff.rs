//! One file's change, as `diff -u` writes it.

use similar::{ChangeTag, TextDiff};

use crate::text::{Palette, TextSpan, TextTone, line};

const CONTEXT: usize = 2;

/// `None` is a file that is not there.
pub fn diff(path: &str, from: Option<&str>, to: Option<&str>, palette: Palette, out: &mut String) {
    let name = |text: Option<&str>| text.map_or("/dev/null", |_| path).to_owned();
    // A file's lines are shown as they are, however long.
    let mut put = |tone: TextTone, text: &str| line(palette, &[TextSpan::command(tone, text)], out);
    put(TextTone::Strong, &format!("--- {}", name(from)));
    put(TextTone::Strong, &format!("+++ {}", name(to)));
    let changes = TextDiff::from_lines(from.unwrap_or(""), to.unwrap_or(""));
    for hunk in changes.unified_diff().context_radius(CONTEXT).iter_hunks() {
        put(TextTone::Accent, &hunk.header().to_string());
        for change in hunk.iter_changes() {
            let (tone, sign) = match change.tag() {
                ChangeTag::Delete => (TextTone::Alarm, '-'),
                ChangeTag::Insert => (TextTone::Good, '+'),
                ChangeTag::Equal => (TextTone::Plain, ' '),
            };
            put(
                tone,
                &format!("{sign}{}", change.value().trim_end_matches('\n')),
            );
        }
    }
}
