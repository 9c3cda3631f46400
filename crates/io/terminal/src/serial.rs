//! A terminal on a node's serial line.

use std::{
    io::{self, Read, Write, stdin, stdout},
    os::unix::net::UnixStream,
};

use rustix::termios::{OptionalActions, Termios, isatty, tcgetattr, tcsetattr};

/// Ctrl-], as telnet and virsh have it.
const LEAVE: u8 = 0x1d;

/// Restores the terminal however the console ends.
struct RawTerminal(Option<Termios>);

impl RawTerminal {
    fn enter() -> Self {
        let input = stdin();
        if !isatty(&input) {
            return Self(None);
        }
        let Ok(before) = tcgetattr(&input) else {
            return Self(None);
        };
        let mut raw = before.clone();
        raw.make_raw();
        let _ = tcsetattr(&input, OptionalActions::Now, &raw);
        Self(Some(before))
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let _ = tcsetattr(stdin(), OptionalActions::Now, before);
        }
    }
}

/// Joins this terminal to the console until Ctrl-], end of input, or the node's end.
pub fn join_serial_line(mut console: UnixStream) -> io::Result<()> {
    let mut writer = console.try_clone()?;
    let _terminal = RawTerminal::enter();
    std::thread::spawn(move || {
        let mut chunk = [0; 4096];
        while let Ok(count @ 1..) = console.read(&mut chunk) {
            let mut out = stdout().lock();
            if out
                .write_all(&chunk[..count])
                .and_then(|()| out.flush())
                .is_err()
            {
                break;
            }
        }
    });
    let mut chunk = [0; 256];
    let mut input = stdin().lock();
    while let Ok(count @ 1..) = input.read(&mut chunk) {
        let keys = &chunk[..count];
        let end = keys.iter().position(|key| *key == LEAVE);
        let send = &keys[..end.unwrap_or(count)];
        if writer.write_all(send).is_err() || end.is_some() {
            break;
        }
    }
    Ok(())
}
