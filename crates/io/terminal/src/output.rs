//! Data on stdout, everything else on stderr.

use std::{
    borrow::Cow,
    env,
    error::Error,
    io::{self, IsTerminal, Write},
};

use crosstie_control::NodesFailed;
use crosstie_report::text::{Palette, printable, sentence};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::{charset::for_terminal, size};

/// Where a sentence goes on.
const INDENT: usize = 4;

/// Whether a person wants colours and drawings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColourChoice {
    Always,
    /// Where a terminal shows it.
    Auto,
    Never,
}

impl ColourChoice {
    /// Whether stdout has some.
    pub fn has_colours(self) -> bool {
        match self {
            Self::Always => true,
            Self::Never => false,
            Self::Auto => {
                let unwanted = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
                io::stdout().is_terminal() && !unwanted && !size::is_dumb()
            }
        }
    }

    /// Of stdout.
    pub fn palette(self) -> Palette {
        let palette = if self.has_colours() {
            Palette::Colour
        } else {
            Palette::Plain
        };
        if io::stdout().is_terminal() {
            palette.within(size::of(io::stdout()).columns)
        } else {
            palette
        }
    }

    /// Whether progress may be drawn on stderr.
    pub fn draws(self) -> bool {
        self.may_draw() && io::stderr().is_terminal()
    }

    /// Whether the whole of stdout's screen may be drawn on.
    pub fn draws_screen(self) -> bool {
        self.may_draw() && io::stdout().is_terminal()
    }

    fn may_draw(self) -> bool {
        self != Self::Never && !size::is_dumb()
    }
}

/// Prints to stdout. A reader that has seen enough (`| head`) is no error.
pub fn print(text: &str) -> io::Result<()> {
    match print_to_reader(text) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        printed => printed,
    }
}

/// Prints to stdout, for somebody who waits for more: a reader that has seen enough is an error, also where there is
/// nothing to print.
pub fn print_to_reader(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    let text = if stdout.is_terminal() {
        for_terminal(text)
    } else {
        Cow::Borrowed(text)
    };
    let written = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
    if let Err(error) = written {
        let text = format!("cannot write to standard output: {error}");
        return Err(io::Error::new(error.kind(), text));
    }
    let mut waited = [PollFd::new(&stdout, PollFlags::empty())];
    let at_once = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let is_gone = poll(&mut waited, Some(&at_once)).is_ok()
        && waited[0]
            .revents()
            .intersects(PollFlags::ERR | PollFlags::HUP);
    if is_gone {
        return Err(io::ErrorKind::BrokenPipe.into());
    }
    Ok(())
}

/// Says it on stderr. Nobody is left to tell if that is gone.
pub fn print_stderr(text: &str) {
    let mut stderr = io::stderr();
    let text = if stderr.is_terminal() {
        for_terminal(text)
    } else {
        Cow::Borrowed(text)
    };
    let _ = stderr.write_all(text.as_bytes());
}

/// An error with all its causes, one a line; where nodes failed, one a node. Its text may quote a node, so it is made
/// printable.
pub fn print_error(error: &(dyn Error + 'static)) {
    let mut causes = Vec::new();
    let mut next = error.source();
    while let Some(cause) = next {
        causes.push(cause);
        next = cause.source();
    }
    let failed = causes.iter().find_map(|cause| cause.downcast_ref());
    if let Some(failed) = error.downcast_ref().or(failed) {
        return print_node_errors(failed);
    }
    let text = error.to_string();
    let mut lines = text.lines();
    print_sentence(&format!("crosstie: {}", lines.next().unwrap_or_default()));
    for line in lines {
        print_sentence(&format!("  {}", line.trim_start()));
    }
    for cause in causes {
        for line in cause.to_string().lines() {
            print_sentence(&format!("  {line}"));
        }
    }
}

/// Says it on stderr, each of its lines as a sentence.
pub fn print_sentences(text: &str) {
    text.lines().for_each(print_sentence);
}

/// Says it on stderr; where that is a terminal, it is folded between words. Its text may quote a node, so it is made printable.
pub(crate) fn print_sentence(text: &str) {
    print_behind("", text);
}

/// The same behind a lead, such as a time, below whose end it goes on.
pub fn print_behind(lead: &str, text: &str) {
    let stderr = io::stderr();
    let palette = if stderr.is_terminal() {
        Palette::Plain.within(size::of(&stderr).columns)
    } else {
        Palette::Plain
    };
    let mut out = String::new();
    let indent = lead.chars().count().max(INDENT);
    sentence(
        palette,
        indent,
        &printable(&format!("{lead}{text}")),
        &mut out,
    );
    print_stderr(&out);
}

/// One line a node.
pub(crate) fn print_node_errors(failed: &NodesFailed) {
    for line in failed.lines() {
        print_sentence(&format!("crosstie: {line}"));
    }
}
