//! Ctrl-C and its kin: whoever we started ends before we do.

use std::{
    io,
    os::unix::net::UnixStream,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use crosstie_node::groups::signal_all;
use rustix::process::Signal;
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    low_level::{emulate_default_handler, pipe},
};

/// Enough for ssh to tell its helpers.
const GRACE: Duration = Duration::from_millis(100);

/// For links of this machine that were brought up for a while.
const PUT_BACK: Duration = Duration::from_secs(2);

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// From now on these signals end every child first. An agent over ssh ends when its input does.
pub fn end_children_on_signals() -> io::Result<()> {
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let (mut told, tells) = UnixStream::pair()?;
        pipe::register(signal, tells)?;
        thread::Builder::new().spawn(move || {
            if io::Read::read(&mut told, &mut [0]).is_ok() {
                INTERRUPTED.store(true, Ordering::SeqCst);
                signal_all(Signal::TERM);
                crosstie_node::cabling::stop_all(PUT_BACK);
                thread::sleep(GRACE);
                signal_all(Signal::KILL);
                let _ = emulate_default_handler(signal);
            }
        })?;
    }
    Ok(())
}

/// Whatever ended because of a signal is no result: this process is about to end of it too.
pub fn end_if_interrupted() {
    while INTERRUPTED.load(Ordering::SeqCst) {
        thread::sleep(GRACE);
    }
}
