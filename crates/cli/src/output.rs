//! Data on stdout, everything else on stderr.

use std::io::{self, IsTerminal, Write};

use clap::ColorChoice;
use crosstie_control::NodesFailed;
use crosstie_report::text::{Palette, printable};
use serde::Serialize;

/// Prints to stdout. A reader that has seen enough (`| head`) is no error.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => {
            let text = format!("cannot write to standard output: {error}");
            Err(io::Error::new(error.kind(), text))
        }
        Ok(()) => Ok(()),
    }
}

/// For a program, and for a person's eyes.
pub(crate) fn json(value: &impl Serialize) -> serde_json::Result<String> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}

/// Says it on stderr. Nobody is left to tell if that is gone.
pub(crate) fn tell(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// An error with all its causes, one a line; where nodes failed, one a node. Its text may quote a node, so it is made
/// printable.
pub(crate) fn complain(error: &anyhow::Error) {
    let failed = error.chain().find_map(|cause| cause.downcast_ref());
    if let Some(failed) = failed {
        return complain_of(failed);
    }
    let mut stderr = io::stderr().lock();
    // Nobody is left to tell if stderr is gone.
    let _ = writeln!(stderr, "crosstie: {}", printable(&error.to_string()));
    for cause in error.chain().skip(1) {
        for line in cause.to_string().lines() {
            let _ = writeln!(stderr, "  {}", printable(line));
        }
    }
}

/// One line a node.
pub(crate) fn complain_of(failed: &NodesFailed) {
    for line in failed.lines() {
        let _ = writeln!(io::stderr().lock(), "crosstie: {}", printable(&line));
    }
}

/// An error with its causes on one line.
pub(crate) fn complain_briefly(error: &anyhow::Error) {
    let _ = writeln!(
        io::stderr().lock(),
        "crosstie: {}",
        printable(&format!("{error:#}"))
    );
}

pub(crate) fn palette(choice: ColorChoice) -> Palette {
    let colour = match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => {
            let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
            io::stdout().is_terminal() && !unwanted
        }
    };
    if colour {
        Palette::Colour
    } else {
        Palette::Plain
    }
}

/// Whether progress may be drawn on stderr.
pub(crate) fn draws(choice: ColorChoice) -> bool {
    choice != ColorChoice::Never && io::stderr().is_terminal()
}
