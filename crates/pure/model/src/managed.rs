//! How a file, or a block in a file, is marked as ours.
//!
//! The mark carries a checksum of what was written. So a person's own edit is seen and never overwritten, and a capture
//! may hold the whole text: there is nothing in it but what we wrote.

use sha2::{Digest, Sha256};

const FILE_MARK: &str = "# Written by crosstie, ";
const ADVICE: &str = ". Change the cluster file instead: an edit here stops the next plan.\n";
const BLOCK_BEGIN: &str = "# crosstie begin ";
const BLOCK_END: &str = "# crosstie end\n";
/// Why a block that is removed leaves the very bytes that were there before.
const NO_FILE: &str = " (there was no file)";
const NO_NEWLINE: &str = " (the line above had no end)";

/// Other people's files are set aside under this ending, which no network manager reads.
pub const ASIDE_SUFFIX: &str = ".crosstie~";

/// What a text says about where it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileOrigin {
    /// As we wrote it.
    Ours,
    /// Ours, and changed since.
    Edited,
    Foreign,
}

/// The text of a whole file of ours.
pub fn seal(body: &str) -> String {
    format!("{FILE_MARK}{}{ADVICE}{body}", checksum(body))
}

pub fn origin(text: &str) -> FileOrigin {
    let Some((sum, body)) = text
        .strip_prefix(FILE_MARK)
        .and_then(|rest| rest.split_once(ADVICE))
    else {
        return if text.starts_with(FILE_MARK) {
            FileOrigin::Edited
        } else {
            FileOrigin::Foreign
        };
    };
    if sum == checksum(body) {
        FileOrigin::Ours
    } else {
        FileOrigin::Edited
    }
}

/// The first line of a file of ours.
pub fn head(text: &str) -> Option<&str> {
    text.starts_with(FILE_MARK)
        .then(|| text.split_inclusive('\n').next())?
}

/// The first line of a file of ours with nothing in it but the checksum that it tells.
pub fn plain_head(line: &str) -> String {
    let sum = plain_sum(line.strip_prefix(FILE_MARK).unwrap_or(""));
    format!("{FILE_MARK}{sum}{ADVICE}")
}

/// The first line of a block of ours, on the same terms.
pub fn plain_begin(line: &str) -> String {
    let mark = line.strip_prefix(BLOCK_BEGIN).unwrap_or("");
    let notes = [NO_FILE, NO_NEWLINE];
    let note = notes
        .into_iter()
        .find(|note| mark.trim_end().ends_with(note));
    format!("{BLOCK_BEGIN}{}{}\n", plain_sum(mark), note.unwrap_or(""))
}

/// The digits that a mark starts with; those of no text where it starts with anything else.
fn plain_sum(mark: &str) -> &str {
    let is_digit = |byte: u8| byte.is_ascii_hexdigit();
    let sum = mark.get(..16).filter(|sum| sum.bytes().all(is_digit));
    sum.unwrap_or("0000000000000000")
}

/// 16 hexadecimal digits: against edits and staleness, not against an enemy.
pub fn checksum(body: &str) -> String {
    let mut digits = format!("{:x}", Sha256::digest(body));
    digits.truncate(16);
    digits
}

/// Our block in a file that others write too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ManagedBlock<'a> {
    pub before: &'a str,
    pub begin: &'a str,
    pub body: &'a str,
    pub end: &'a str,
    pub after: &'a str,
}

impl<'a> ManagedBlock<'a> {
    /// The first one; without an end it reaches to the end of the file.
    pub fn find(text: &'a str) -> Option<Self> {
        let start = line_start(text, BLOCK_BEGIN)?;
        let (before, rest) = text.split_at(start);
        let (begin, rest) = rest.split_at(rest.find('\n').map_or(rest.len(), |at| at + 1));
        let stop = line_start(rest, BLOCK_END).unwrap_or(rest.len());
        let (body, rest) = rest.split_at(stop);
        let (end, after) = rest.split_at(BLOCK_END.len().min(rest.len()));
        Some(Self {
            before,
            begin,
            body,
            end,
            after,
        })
    }

    pub fn is_intact(&self) -> bool {
        let mark = self.begin.strip_prefix(BLOCK_BEGIN).unwrap_or("");
        self.end == BLOCK_END && mark.get(..16) == Some(&checksum(self.body))
    }
}

fn line_start(text: &str, line: &str) -> Option<usize> {
    let mut at = 0;
    for found in text.split_inclusive('\n') {
        if found.starts_with(line) {
            return Some(at);
        }
        at += found.len();
    }
    None
}

/// Where a new block goes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum BlockPlace {
    /// Where the first setting wins, as in nccl.conf.
    Top,
    End,
}

/// A shared file with our block put in, replaced or, without a `body`, taken out. What others wrote stays byte for
/// byte; `None` is a file that is not there.
pub fn with_block(text: Option<&str>, body: Option<&str>, place: BlockPlace) -> Option<String> {
    match (text.and_then(ManagedBlock::find), body) {
        (Some(found), Some(body)) => {
            let mark = found.begin.trim_end_matches('\n');
            let how = [NO_FILE, NO_NEWLINE]
                .into_iter()
                .find(|how| mark.ends_with(how));
            let block = block(body, how.unwrap_or(""));
            Some([found.before, &block, found.after].concat())
        }
        (Some(found), None) => without(&found),
        (None, Some(body)) => Some(match (text, place) {
            (None, _) => block(body, NO_FILE),
            (Some(text), BlockPlace::Top) => block(body, "") + text,
            (Some(text), BlockPlace::End) if text.is_empty() || text.ends_with('\n') => {
                format!("{text}{}", block(body, ""))
            }
            (Some(text), BlockPlace::End) => format!("{text}\n{}", block(body, NO_NEWLINE)),
        }),
        (None, None) => text.map(str::to_owned),
    }
}

fn block(body: &str, how: &str) -> String {
    format!("{BLOCK_BEGIN}{}{how}\n{body}{BLOCK_END}", checksum(body))
}

fn without(found: &ManagedBlock) -> Option<String> {
    let mark = found.begin.trim_end_matches('\n');
    let mut before = found.before;
    if mark.ends_with(NO_NEWLINE) {
        before = before.strip_suffix('\n').unwrap_or(before);
    }
    let rest = [before, found.after].concat();
    (!(rest.is_empty() && mark.ends_with(NO_FILE))).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_is_seen() {
        let text = seal("a = 1\n");
        assert_eq!(origin(&text), FileOrigin::Ours);
        assert_eq!(origin(&text.replace("= 1", "= 2")), FileOrigin::Edited);
        assert_eq!(origin(head(&text).unwrap()), FileOrigin::Edited);
        assert_eq!(origin("a = 1\n"), FileOrigin::Foreign);
    }

    #[test]
    fn a_block_that_goes_leaves_no_trace() {
        for text in [
            None,
            Some(""),
            Some("a"),
            Some("a\n"),
            Some("\n\na\r\nb"),
            Some("# crosstie\n"),
        ] {
            for place in [BlockPlace::Top, BlockPlace::End] {
                let with = with_block(text, Some("x\ny\n"), place);
                let found = ManagedBlock::find(with.as_deref().unwrap()).unwrap();
                assert_eq!((found.body, found.is_intact()), ("x\ny\n", true));
                let replaced = with_block(with.as_deref(), Some("z\n"), place);
                let again = with_block(replaced.as_deref(), None, place);
                assert_eq!(again.as_deref(), text, "{place:?}");
            }
        }
    }

    #[test]
    fn a_block_without_an_end_is_not_intact() {
        let text = with_block(Some("a\n"), Some("x\n"), BlockPlace::End).unwrap();
        for cut in [text.replace(BLOCK_END, ""), text.replace("x\n", "y\n")] {
            assert!(!ManagedBlock::find(&cut).unwrap().is_intact(), "{cut}");
        }
    }
}
