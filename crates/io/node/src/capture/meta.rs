//! `meta.toml`: who was captured and when, and what could not be read.

use std::fmt::Write;

use crosstie_facts::{CaptureEntry, CaptureMeta, RawCapture, ReadGap};
use toml::{Table, Value};

use super::{COMMANDS, CaptureLoadError, FORMAT, ROOT};

const DENIED: &str = "denied";
const TOO_LARGE: &str = "too-large";
const ABSENT: &str = "absent";
const FAILED: &str = "failed: ";
const ROOT_REFUSED: &str = "root_refused";
/// Where captures of earlier builds have it: the gap of a command that nobody runs.
const EARLIER_REFUSAL: &str = "cmd/sudo";

/// What a `meta.toml` says, less what it need not say.
pub(super) struct CaptureMetaFile {
    pub(super) host: Option<String>,
    pub(super) captured: String,
    pub(super) root_refused: Option<String>,
    gaps: Table,
}

pub(super) fn parse(bytes: &[u8]) -> Result<CaptureMetaFile, CaptureLoadError> {
    let text = std::str::from_utf8(bytes).map_err(|_| CaptureLoadError::MetaText)?;
    let mut table: Table = text
        .parse()
        .map_err(|error| CaptureLoadError::Meta(Box::new(error)))?;
    match table.get("format") {
        Some(Value::Integer(FORMAT)) => {}
        found => {
            let found = found.map_or_else(|| "unknown".to_owned(), ToString::to_string);
            return Err(CaptureLoadError::Format {
                found: found.chars().take(40).collect(),
            });
        }
    }
    let mut gaps = match table.remove("gaps") {
        Some(Value::Table(gaps)) => gaps,
        _ => Table::new(),
    };
    let earlier = gaps.remove(EARLIER_REFUSAL);
    let root_refused = text_of(table.remove(ROOT_REFUSED)).or_else(|| {
        let why = text_of(earlier)?;
        Some(why.strip_prefix(FAILED).unwrap_or(&why).to_owned())
    });
    Ok(CaptureMetaFile {
        host: text_of(table.remove("host")),
        captured: match table.remove("captured") {
            Some(Value::Datetime(time)) => time.to_string(),
            captured => text_of(captured).unwrap_or_default(),
        },
        root_refused,
        gaps,
    })
}

fn text_of(value: Option<Value>) -> Option<String> {
    match value {
        Some(Value::String(text)) => Some(text),
        _ => None,
    }
}

impl CaptureMetaFile {
    /// The gaps as entries of the capture: `root/…` or `cmd/…` → why it is missing.
    pub(super) fn gaps(&self) -> impl Iterator<Item = (&str, ReadGap)> {
        self.gaps.iter().filter_map(|(path, reason)| {
            let reason = reason.as_str()?;
            Some((path.as_str(), gap(reason)))
        })
    }
}

fn gap(reason: &str) -> ReadGap {
    match reason {
        DENIED => ReadGap::Denied,
        TOO_LARGE => ReadGap::TooLarge,
        ABSENT => ReadGap::Absent,
        other => ReadGap::Failed(other.strip_prefix(FAILED).unwrap_or(other).to_owned()),
    }
}

fn reason(gap: &ReadGap) -> String {
    match gap {
        ReadGap::Denied => DENIED.to_owned(),
        ReadGap::TooLarge => TOO_LARGE.to_owned(),
        ReadGap::Absent => ABSENT.to_owned(),
        ReadGap::Failed(text) => format!("{FAILED}{text}"),
    }
}

pub(super) fn render(raw: &RawCapture) -> String {
    let CaptureMeta {
        host,
        captured,
        root_refused,
    } = &raw.meta;
    let quote = |text: &str| Value::from(text).to_string();
    let mut text = format!(
        "format = {FORMAT}\nhost = {}\ncaptured = {}\n",
        quote(host),
        quote(captured)
    );
    if let Some(why) = root_refused {
        let _ = writeln!(text, "{ROOT_REFUSED} = {}", quote(why));
    }
    let tree = raw.tree().map(|(path, entry)| (ROOT, path, entry));
    let commands = raw.commands().map(|(name, entry)| (COMMANDS, name, entry));
    let gaps: Table = tree
        .chain(commands)
        .filter_map(|(folder, name, entry)| match entry {
            CaptureEntry::Gap(gap) => Some((format!("{folder}/{name}"), Value::from(reason(gap)))),
            _ => None,
        })
        .collect();
    if !gaps.is_empty() {
        text.push_str("\n[gaps]\n");
        text.push_str(&gaps.to_string());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_formats_are_named() {
        for (text, found) in [
            ("format = 2", "2"),
            ("format = '1'", "\"1\""),
            ("host = 'a'", "unknown"),
        ] {
            let error = parse(text.as_bytes()).err().unwrap().to_string();
            assert!(error.contains(&format!("format {found};")), "{error}");
            assert!(error.contains("reads format 1"), "{error}");
        }
    }

    #[test]
    fn wrong_types_are_as_good_as_missing() {
        let meta = parse(b"format = 1\nhost = 5\ncaptured = []\ngaps = 'x'").unwrap();
        assert_eq!(meta.host, None);
        assert_eq!(meta.captured, "");
        assert_eq!(meta.gaps().count(), 0);
    }

    #[test]
    fn gaps_keep_their_reason() {
        let text = "format = 1\n[gaps]\n'root/a' = 'denied'\n'root/b' = 'too-large'\n'cmd/c' = 'failed: no such tool'\n'root/d' = 'odd'\n'root/e' = 1";
        let meta = parse(text.as_bytes()).unwrap();
        let gaps: Vec<_> = meta.gaps().collect();
        assert_eq!(
            gaps,
            [
                ("cmd/c", ReadGap::Failed("no such tool".into())),
                ("root/a", ReadGap::Denied),
                ("root/b", ReadGap::TooLarge),
                ("root/d", ReadGap::Failed("odd".into())),
            ]
        );
    }

    #[test]
    fn a_refusal_of_root_is_read_as_earlier_builds_wrote_it_too() {
        for text in [
            "format = 1\nroot_refused = 'no password'",
            "format = 1\n[gaps]\n'cmd/sudo' = 'failed: no password'",
        ] {
            let meta = parse(text.as_bytes()).unwrap();
            assert_eq!(meta.root_refused.as_deref(), Some("no password"), "{text}");
            assert_eq!(meta.gaps().count(), 0, "{text}");
        }
    }

    #[test]
    fn a_plain_capture_reads_as_a_person_would_write_it() {
        let raw = RawCapture::new(CaptureMeta {
            host: "spark-a".into(),
            captured: "2026-11-01T12:00:00Z".into(),
            root_refused: None,
        });
        assert_eq!(
            render(&raw),
            "format = 1\nhost = \"spark-a\"\ncaptured = \"2026-11-01T12:00:00Z\"\n"
        );
    }
}
