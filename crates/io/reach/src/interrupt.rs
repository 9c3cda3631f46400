//! Ctrl-C and its kin: whoever we started ends before we do.

use std::{io, os::unix::net::UnixStream, thread, time::Duration};

use crosstie_node::groups::signal_all;
use rustix::process::Signal;
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    low_level::{emulate_default_handler, pipe},
};

/// Enough for ssh to tell its helpers.
const GRACE: Duration = Duration::from_millis(100);

/// From now on these signals end every child first. An agent over ssh ends when its input does.
pub fn end_children_on_signals() -> io::Result<()> {
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let (mut told, tells) = UnixStream::pair()?;
        pipe::register(signal, tells)?;
        thread::Builder::new().spawn(move || {
            if io::Read::read(&mut told, &mut [0]).is_ok() {
                signal_all(Signal::TERM);
                thread::sleep(GRACE);
                signal_all(Signal::KILL);
                let _ = emulate_default_handler(signal);
            }
        })?;
    }
    Ok(())
}
