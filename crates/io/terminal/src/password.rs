//! A password, typed on the terminal without echo.

use std::{
    fs::File,
    io::{self, Read, Write},
    sync::{Mutex, PoisonError},
    thread,
    time::Duration,
};

use crosstie_reach::secret::{MAX_PASSWORD, PasswordError, PasswordPurpose, SecretBytes};
use rustix::{
    process::{Signal, getpid, kill_process},
    termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr},
};

use crate::prompt::open;

/// For a signal to end this process.
const SIGNAL_END_TIMEOUT: Duration = Duration::from_secs(1);

/// Keys, which come as bytes while we ask.
const INTERRUPT: u8 = 3;
const END: u8 = 4;
const BACKSPACE: u8 = 8;
const ERASE_LINE: u8 = 21;
const DELETE: u8 = 127;

pub(crate) fn ask_password(purpose: &PasswordPurpose) -> Result<SecretBytes, PasswordError> {
    let asked = || {
        let file = open()?;
        let _silence = EchoOff::new(&file)?;
        let mut terminal = &file;
        terminal.write_all(purpose.question().as_bytes())?;
        let answer = typed(&mut terminal);
        terminal.write_all(b"\n")?;
        answer
    };
    let failed = |error: io::Error| {
        if error.kind() == io::ErrorKind::Interrupted {
            // The terminal is as it was: now the key does what it usually does.
            let _ = kill_process(getpid(), Signal::INT);
            // It ends our children first, and us a little later: there is nothing to say meanwhile.
            thread::sleep(SIGNAL_END_TIMEOUT);
        }
        PasswordError::Terminal {
            reason: error.to_string(),
        }
    };
    asked().map_err(failed)?.ok_or(PasswordError::Declined)
}

/// One byte at a time: what follows the line is another's. `None` where it was given up.
fn typed(from: &mut impl Read) -> io::Result<Option<SecretBytes>> {
    // With room for all of it, so that no part is left behind in memory.
    let mut secret = Vec::with_capacity(MAX_PASSWORD);
    let mut byte = [0];
    loop {
        match from.read(&mut byte) {
            Ok(0) => return Ok((!secret.is_empty()).then(|| SecretBytes::of(secret))),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        }
        match byte[0] {
            b'\n' | b'\r' => return Ok(Some(SecretBytes::of(secret))),
            INTERRUPT => {
                drop(SecretBytes::of(secret));
                return Err(io::ErrorKind::Interrupted.into());
            }
            END => {
                drop(SecretBytes::of(secret));
                return Ok(None);
            }
            BACKSPACE | DELETE => drop(secret.pop()),
            ERASE_LINE => secret.clear(),
            _ if secret.len() == MAX_PASSWORD => {
                drop(SecretBytes::of(secret));
                return Ok(None);
            }
            other => secret.push(other),
        }
    }
}

/// The terminal that is silent now, and how it was before.
static SILENCED: Mutex<Option<(File, Termios)>> = Mutex::new(None);

/// No echo, and keys come as they are struck, until dropped or [`restore_terminal`] is called.
struct EchoOff;

impl EchoOff {
    fn new(terminal: &File) -> io::Result<Self> {
        let before = tcgetattr(terminal)?;
        let mut silent = before.clone();
        silent.local_modes -= LocalModes::ECHO | LocalModes::ISIG | LocalModes::ICANON;
        let kept = terminal.try_clone()?;
        let mut silenced = SILENCED.lock().unwrap_or_else(PoisonError::into_inner);
        tcsetattr(terminal, OptionalActions::Flush, &silent)?;
        *silenced = Some((kept, before));
        Ok(Self)
    }
}

impl Drop for EchoOff {
    fn drop(&mut self) {
        restore_terminal();
    }
}

/// Makes the terminal speak again; also for a signal that ends us in the middle of the question.
pub(crate) fn restore_terminal() {
    let mut silenced = SILENCED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((terminal, before)) = silenced.take() {
        let _ = tcsetattr(terminal, OptionalActions::Flush, &before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_edit_do_and_others_are_the_password() {
        let typed = |bytes: &[u8]| typed(&mut &bytes[..]);
        assert!(typed(b"").unwrap().is_none());
        assert!(typed(b"abc\x04").unwrap().is_none());
        assert!(typed(b"abc\x03").is_err());
        let secret = typed(b"x\x15ab\x7fc\n").unwrap().unwrap();
        assert_eq!(secret.bytes(), b"ac");
        assert!(typed(&[b'x'; 300]).unwrap().is_none());
        assert_eq!(typed(b"\n").unwrap().unwrap().bytes(), b"");
    }
}
