//! Questions to whoever sits at the terminal.

use std::{
    fs::{File, OpenOptions},
    io::{self, BufRead, BufReader, IsTerminal, Write},
    time::{Duration, Instant},
};

use crosstie_report::text::printable;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

pub fn is_there() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// `yes`, in full: this is not to be answered by a cat on the keyboard. No answer is no.
pub fn approve(question: &str, within: Duration) -> bool {
    let asked = || -> io::Result<bool> {
        let mut terminal = open()?;
        write!(terminal, "{} (yes/no) ", printable(question))?;
        if !is_answered(&terminal, within)? {
            writeln!(terminal)?;
            return Ok(false);
        }
        Ok(answer(&terminal)? == "yes")
    };
    asked().unwrap_or(false)
}

/// `y` or `yes`, before `until`, with the seconds that are left. No answer is no.
pub fn approve_before(question: &str, until: Instant) -> bool {
    let asked = || -> io::Result<bool> {
        let mut terminal = open()?;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            write!(
                terminal,
                "\r{} ({:>4} s) ",
                printable(question),
                left.as_secs()
            )?;
            if is_answered(&terminal, left.min(Duration::from_secs(1)))? {
                return Ok(["y", "yes"].contains(&answer(&terminal)?.as_str()));
            }
            if left.is_zero() {
                writeln!(terminal)?;
                return Ok(false);
            }
        }
    };
    asked().unwrap_or(false)
}

pub(crate) fn open() -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open("/dev/tty")
}

fn is_answered(terminal: &File, within: Duration) -> io::Result<bool> {
    let mut waited = [PollFd::new(terminal, PollFlags::IN)];
    let limit = Timespec::try_from(within).ok();
    Ok(poll(&mut waited, limit.as_ref())? > 0)
}

fn answer(terminal: &File) -> io::Result<String> {
    let mut answer = String::new();
    BufReader::new(terminal).read_line(&mut answer)?;
    Ok(answer.trim().to_lowercase())
}
