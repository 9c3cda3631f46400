//! Logs, on stderr.

use std::io;

use tracing_subscriber::EnvFilter;

use crate::ColourChoice;

/// Silent unless they are asked for: `-v`, or `CROSSTIE_LOG=debug`. What runs on a node by itself has nobody to print to
/// but the journal.
pub fn log_to_stderr(verbose: u8, for_people: bool, colour: ColourChoice) {
    let level = match verbose {
        0 if for_people => "off",
        0 => "warn",
        1 => "info",
        _ => "debug",
    };
    let filter = EnvFilter::try_from_env("CROSSTIE_LOG").unwrap_or_else(|_| EnvFilter::new(level));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(colour.draws())
        .without_time()
        .init();
}
