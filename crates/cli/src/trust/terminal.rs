//! A question to whoever sits at the terminal.

use std::{
    fs::OpenOptions,
    io::{self, BufRead, BufReader, IsTerminal, Write},
};

use crosstie_report::text::printable;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::nodes::PERSON;

pub(super) fn is_there() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// `yes`, in full: this is not to be answered by a cat on the keyboard. No answer is no.
pub(super) fn approve(question: &str) -> bool {
    let asked = || -> io::Result<bool> {
        let mut terminal = OpenOptions::new().read(true).write(true).open("/dev/tty")?;
        write!(terminal, "{} (yes/no) ", printable(question))?;
        let mut waited = [PollFd::new(&terminal, PollFlags::IN)];
        let limit = Timespec::try_from(PERSON).ok();
        if poll(&mut waited, limit.as_ref())? == 0 {
            writeln!(terminal)?;
            return Ok(false);
        }
        let mut answer = String::new();
        BufReader::new(&terminal).read_line(&mut answer)?;
        Ok(answer.trim() == "yes")
    };
    asked().unwrap_or(false)
}
