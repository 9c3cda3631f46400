//! One line of a log, whoever passed it on: `… HOST:PID:TID [DEVICE] … NCCL INFO MESSAGE …`.
//!
//! vLLM, Ray, torchrun, MPI, containers and time stamps put words before it. So the words before `NCCL INFO` are looked
//! through from the right, and the first that ends in `HOST:PID:TID` is it. Two processes that write to one pipe may leave
//! two messages in one line.

use std::borrow::Cow;

use memchr::{memchr, memmem, memrchr};

/// One message and who said it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LogSegment<'a> {
    pub(crate) speaker: Option<LogSpeaker<'a>>,
    pub(crate) message: &'a [u8],
    /// From the speaker to the end of the message: what a person is shown.
    pub(crate) shown: &'a [u8],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LogSpeaker<'a> {
    pub(crate) host: &'a [u8],
    /// `HOST:PID`, which names a process.
    pub(crate) process: &'a [u8],
    pub(crate) thread: u32,
}

pub(crate) const NCCL_MARK: &[u8] = b"NCCL ";

/// A longer host name than any resolver takes is no host name.
const MAX_HOST: usize = 255;
/// `[DEVICE] FILE:LINE (FUNCTION)` stand between the speaker and the mark, at most; the rest is slack for forms to come.
const MAX_WORDS: usize = 12;

/// The messages of a line, in order.
pub(crate) fn segments(line: &[u8], mark: &memmem::Finder, mut each: impl FnMut(LogSegment)) {
    let mut marks = mark
        .find_iter(line)
        .filter(|at| {
            let level = &line[at + NCCL_MARK.len()..];
            level.starts_with(b"INFO ") || level.starts_with(b"WARN ")
        })
        .peekable();
    let mut from = 0;
    while let Some(mark) = marks.next() {
        let start = mark + NCCL_MARK.len() + b"INFO ".len();
        let end = marks.peek().map_or(line.len(), |next| *next);
        let speaker = speaker(&line[from..mark]);
        let shown = speaker.map_or(mark, |(at, _)| from + at);
        each(LogSegment {
            speaker: speaker.map(|(_, speaker)| speaker),
            message: &line[start..end],
            shown: &line[shown..end],
        });
        from = start;
    }
}

/// The speaker and where its word's host begins.
fn speaker(before: &[u8]) -> Option<(usize, LogSpeaker<'_>)> {
    let mut rest = before;
    for _ in 0..MAX_WORDS {
        let end = rest.iter().rposition(|byte| *byte != b' ')? + 1;
        let start = memrchr(b' ', &rest[..end]).map_or(0, |at| at + 1);
        if let Some((at, speaker)) = word(&rest[start..end]) {
            return Some((start + at, speaker));
        }
        rest = &rest[..start];
    }
    None
}

fn word(word: &[u8]) -> Option<(usize, LogSpeaker<'_>)> {
    let thread_at = memrchr(b':', word)?;
    let pid_at = memrchr(b':', &word[..thread_at])?;
    let thread = number(&word[thread_at + 1..])?;
    number(&word[pid_at + 1..thread_at])?;
    let named = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    let host_at = word[..pid_at]
        .iter()
        .rposition(|byte| !named(byte))
        .map_or(0, |at| at + 1);
    let host = &word[host_at..pid_at];
    let speaker = LogSpeaker {
        host,
        process: &word[host_at..thread_at],
        thread,
    };
    (!host.is_empty() && host.len() <= MAX_HOST).then_some((host_at, speaker))
}

/// Nothing but digits, and a number that fits.
fn number(digits: &[u8]) -> Option<u32> {
    let all = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    all.then(|| leading_number(digits)).flatten()
}

/// The number at the start.
pub(crate) fn leading_number(text: &[u8]) -> Option<u32> {
    let mut value: Option<u32> = None;
    for digit in text.iter().take_while(|byte| byte.is_ascii_digit()) {
        let digit = u32::from(digit - b'0');
        value = Some(value.unwrap_or(0).checked_mul(10)?.checked_add(digit)?);
    }
    value
}

/// The line without the escape sequences that colour it.
pub(crate) fn without_colours(line: &[u8]) -> Cow<'_, [u8]> {
    const ESCAPE: u8 = 0x1b;
    if memchr(ESCAPE, line).is_none() {
        return Cow::Borrowed(line);
    }
    let mut plain = Vec::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = memchr(ESCAPE, rest) {
        plain.extend_from_slice(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(sequence) = rest.strip_prefix(b"[") {
            // ECMA-48, 5.4: parameters, then one final byte from `@` to `~`.
            let parameters = sequence
                .iter()
                .take_while(|byte| matches!(byte, 0x20..=0x3f));
            let length = parameters.count();
            let end = sequence
                .get(length)
                .is_some_and(|byte| matches!(byte, 0x40..=0x7e));
            rest = &sequence[length + usize::from(end)..];
        }
    }
    plain.extend_from_slice(rest);
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `HOST/PROCESS/THREAD|MESSAGE` of each message.
    fn told(line: &str) -> Vec<String> {
        let mut told = Vec::new();
        let plain = without_colours(line.as_bytes());
        segments(&plain, &memmem::Finder::new(NCCL_MARK), |segment| {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            let speaker = segment.speaker.map_or_else(String::new, |speaker| {
                format!(
                    "{}/{}/{}",
                    text(speaker.host),
                    text(speaker.process),
                    speaker.thread
                )
            });
            told.push(format!("{speaker}|{}", text(segment.message)));
        });
        told
    }

    #[test]
    fn whoever_passes_a_line_on_its_speaker_is_found() {
        let prefixes = [
            "",
            "(EngineCore_DP0 pid=4711) ",
            "(Worker pid=12) ",
            "(VllmWorkerProcess pid=12) ",
            "\u{1b}[36m(RayWorkerWrapper pid=1234, ip=10.0.0.2)\u{1b}[0m ",
            "\u{1b}[36m(RayWorkerWrapper pid=1234, ip=10.0.0.2)\u{1b}[0m\u{1b}[1;31m",
            "[rank3]:",
            "[rank3]: ",
            "[default0]:",
            "[1,0]<stdout>:",
            "2026-11-02T10:11:12.131415Z ",
            "2026-11-02T10:11:12.131415678Z stdout F ",
            "[2026-11-02 10:11:12] ",
            "Nov 02 10:11:12 spark-b train[77]: ",
            "worker-1  | ",
            "{\"log\":\"",
            "progress 10%\r",
        ];
        for prefix in prefixes {
            for host in ["spark-a", "node-1.lab.example", "gpu_07", "4f2a9c"] {
                let line = format!("{prefix}{host}:100:211 [0] NCCL INFO Using network IB");
                assert_eq!(
                    told(&line),
                    [format!("{host}/{host}:100/211|Using network IB")],
                    "{line}"
                );
            }
        }
    }

    #[test]
    fn warnings_name_their_place_in_the_source() {
        for place in ["transport/net_ib.cc:1295", "p2p.cc:688 (test)", ""] {
            let line = format!("a:1:2 [-1] {place} NCCL WARN NET/IB : x");
            assert_eq!(told(&line), ["a/a:1/2|NET/IB : x"]);
        }
    }

    #[test]
    fn two_messages_in_one_line() {
        let found = told("a:1:2 [0] NCCL INFO xb:3:4 [1] NCCL INFO y");
        assert_eq!(found, ["a/a:1/2|xb:3:4 [1] ", "xb/xb:3/4|y"]);
    }

    #[test]
    fn no_speaker_is_no_reason_to_stop() {
        assert_eq!(told("12:00 NCCL INFO x"), ["|x"]);
        assert_eq!(told(" NCCL WARN x"), ["|x"]);
        assert_eq!(told("a:1:99999999999 NCCL INFO x"), ["|x"]);
        assert!(told("a:1:2 [0] NCCL TRACE x").is_empty());
    }
}
