//! The hub as a program of its own, for tests of this crate; the product runs it as `crosstie lab hub`.

// Its standard error is the lab's hub.log.
#![allow(clippy::print_stderr)]

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(config) = std::env::args_os().nth(1) else {
        return ExitCode::from(2);
    };
    match crosstie_lab::hub::serve(Path::new(&config)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}: {:?}", std::error::Error::source(&error));
            ExitCode::FAILURE
        }
    }
}
