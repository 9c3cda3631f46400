//! Questions to whoever sits at the terminal.

use std::{
    fs::{File, OpenOptions},
    io::{self, IsTerminal, Read, Write},
    time::{Duration, Instant},
};

use crosstie_control::ConsentAnswer;
use crosstie_report::text::{printable, wrap};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    termios::{QueueSelector, tcflush},
};

use crate::{charset::for_terminal, size};

/// The time that is left is shown anew.
const REDRAW_INTERVAL: Duration = Duration::from_secs(1);
/// A line that is longer is no answer.
const MAX_REPLY_BYTES: usize = 256;

pub fn is_there() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// A question that is answered with yes or no.
pub(crate) struct YesNoPrompt<'a> {
    pub(crate) text: &'a str,
    pub(crate) ask: &'a str,
    /// What `d` shows.
    pub(crate) diff: Option<&'a dyn Fn()>,
    /// No answer by then is none.
    pub(crate) until: Instant,
    pub(crate) shows_time: bool,
}

impl YesNoPrompt<'_> {
    /// Until it is answered. A terminal that cannot be asked on gives no answer either.
    pub(crate) fn ask(&self) -> ConsentAnswer {
        self.asked().unwrap_or(ConsentAnswer::EndOfInput)
    }

    fn asked(&self) -> io::Result<ConsentAnswer> {
        let mut terminal = open()?;
        // What was typed before the question is no answer to it.
        let _ = tcflush(&terminal, QueueSelector::IFlush);
        let columns = size::of(&terminal).columns.min(100);
        for line in wrap(&printable(self.text), columns) {
            writeln!(terminal, "{}", for_terminal(&line))?;
        }
        loop {
            let reply = self.reply(&mut terminal, columns)?;
            let Some(reply) = reply else {
                writeln!(terminal)?;
                return Ok(ConsentAnswer::Silence);
            };
            match (Reply::of(&reply), self.diff) {
                (Reply::Yes, _) => return Ok(ConsentAnswer::Yes),
                (Reply::No, _) => return Ok(ConsentAnswer::No),
                (Reply::End, _) => {
                    writeln!(terminal)?;
                    return Ok(ConsentAnswer::EndOfInput);
                }
                (Reply::Diff, Some(show)) => show(),
                (Reply::Diff | Reply::Other, diff) => {
                    let or = if diff.is_some() {
                        ", or d for the diff"
                    } else {
                        ""
                    };
                    writeln!(terminal, "Please type y or n{or}.")?;
                }
            }
        }
    }

    /// One line, empty at the end of input; nothing where none came in time.
    fn reply(&self, terminal: &mut File, columns: usize) -> io::Result<Option<String>> {
        let keys = if self.diff.is_some() {
            "[y/n, d: diff]"
        } else {
            "[y/n]"
        };
        let ask = for_terminal(&printable(self.ask)).into_owned();
        let left = || self.until.saturating_duration_since(Instant::now());
        let time = |left: Duration| {
            let shown = self.shows_time.then(|| time_left(left));
            shown.unwrap_or_default()
        };
        let mut line = |left| format!("{ask} {keys}{} ", time(left));
        let mut short = |left| format!("{keys}{} ", time(left));
        let line: &mut dyn FnMut(Duration) -> String = if line(left()).chars().count() + 4 > columns
        {
            writeln!(terminal, "{ask}")?;
            &mut short
        } else {
            &mut line
        };
        write!(terminal, "{}", line(left()))?;
        loop {
            let wait = left().min(REDRAW_INTERVAL);
            if is_answered(terminal, wait)? {
                return typed(terminal).map(Some);
            }
            if left().is_zero() {
                return Ok(None);
            }
            if self.shows_time && !size::is_dumb() {
                // The cursor stays where it is (DECSC, DECRC): somebody may be typing.
                write!(terminal, "\x1b7\r{}\x1b8", line(left()))?;
            }
        }
    }
}

/// As wide as ever, since it is drawn over what was there: blanks are behind it, before what is typed.
fn time_left(left: Duration) -> String {
    format!(" {:<7}", format!("({} s)", left.as_secs()))
}

#[derive(Debug, PartialEq, Eq)]
enum Reply {
    Yes,
    No,
    Diff,
    End,
    Other,
}

impl Reply {
    /// Of a line with its end, if it has one.
    fn of(line: &str) -> Self {
        match line.trim().to_lowercase().as_str() {
            "y" | "yes" => Self::Yes,
            "n" | "no" => Self::No,
            "d" | "diff" => Self::Diff,
            _ if line.is_empty() => Self::End,
            _ => Self::Other,
        }
    }
}

pub(crate) fn open() -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open("/dev/tty")
}

fn is_answered(terminal: &File, within: Duration) -> io::Result<bool> {
    let mut waited = [PollFd::new(terminal, PollFlags::IN)];
    let limit = Timespec::try_from(within).ok();
    match poll(&mut waited, limit.as_ref()) {
        // No answer: a signal that ends this process is at work, or one that does not matter.
        Err(Errno::INTR) => Ok(false),
        polled => Ok(polled? > 0),
    }
}

/// Up to the end of the line, or of the input.
fn typed(terminal: &mut impl Read) -> io::Result<String> {
    let mut line = Vec::new();
    let mut bytes = [0; MAX_REPLY_BYTES];
    while line.last() != Some(&b'\n') && line.len() < MAX_REPLY_BYTES {
        match terminal.read(&mut bytes) {
            Ok(0) => break,
            Ok(count) => line.extend_from_slice(&bytes[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(String::from_utf8_lossy(&line).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_yes_is_one() {
        for yes in ["y\n", "YES\n", " yes \r\n"] {
            assert_eq!(Reply::of(yes), Reply::Yes, "{yes:?}");
        }
        for no in ["n\n", "No\n"] {
            assert_eq!(Reply::of(no), Reply::No, "{no:?}");
        }
        for other in ["\n", "yep\n", "yn\n", "ja\n", "\u{1b}[A\n"] {
            assert_eq!(Reply::of(other), Reply::Other, "{other:?}");
        }
        assert_eq!(Reply::of(""), Reply::End);
    }

    #[test]
    fn the_time_that_is_left_has_no_hole_and_covers_what_was_there() {
        let shown = |seconds| time_left(Duration::from_secs(seconds));
        assert_eq!(shown(62), " (62 s) ");
        let widths = [0, 9, 62, 119, 900].map(|seconds| shown(seconds).chars().count());
        assert_eq!(widths, [widths[0]; 5]);
    }

    #[test]
    fn a_line_is_read_to_its_end() {
        assert_eq!(typed(&mut &b"ye"[..]).unwrap(), "ye");
        assert_eq!(typed(&mut &b"yes\n"[..]).unwrap(), "yes\n");
        assert_eq!(typed(&mut &b""[..]).unwrap(), "");
        assert!(typed(&mut io::repeat(b'x')).unwrap().len() <= 2 * MAX_REPLY_BYTES);
    }
}
