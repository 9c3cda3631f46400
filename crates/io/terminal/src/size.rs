//! How much room a terminal has.

use std::{env, io, os::fd::AsFd};

use crosstie_report::up::TerminalSize;
use rustix::termios::tcgetwinsize;

/// Where nobody says otherwise.
const DEFAULT_SIZE: TerminalSize = TerminalSize {
    columns: 80,
    lines: 24,
};

pub(crate) fn of(terminal: impl AsFd) -> TerminalSize {
    let known = |cells: u16, usual: usize| match cells {
        0 => usual,
        cells => usize::from(cells),
    };
    let size = tcgetwinsize(terminal);
    size.map_or(DEFAULT_SIZE, |size| TerminalSize {
        columns: known(size.ws_col, DEFAULT_SIZE.columns),
        lines: known(size.ws_row, DEFAULT_SIZE.lines),
    })
}

/// For what is drawn on stderr: a line that is as wide as the terminal would wrap in some of them.
pub(crate) fn drawn() -> TerminalSize {
    let TerminalSize { columns, lines } = of(io::stderr());
    TerminalSize {
        columns: columns.saturating_sub(1),
        lines: lines.saturating_sub(1),
    }
}

/// It can be written on, and that is all.
pub(crate) fn is_dumb() -> bool {
    env::var_os("TERM").is_none_or(|term| term.is_empty() || term == "dumb")
}
