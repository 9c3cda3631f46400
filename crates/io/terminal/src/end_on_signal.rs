//! How the terminal is left, also by whoever interrupts us.

use std::{
    io::{self, Write},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use crosstie_reach::run_before_exit;

use crate::{
    output::{print_sentence, print_stderr},
    password::restore_terminal,
};

static LAST_WORDS: Mutex<String> = Mutex::new(String::new());

/// A screen of its own is drawn on.
static SCREEN: AtomicBool = AtomicBool::new(false);

/// From now on, until they are changed again.
pub(crate) fn set_interrupt_message(words: &str) {
    let mut last = LAST_WORDS.lock().unwrap_or_else(PoisonError::into_inner);
    words.clone_into(&mut last);
}

/// From now on a signal that ends us leaves the terminal as it was, with the last words on it.
pub(crate) fn restore_terminal_on_signals() {
    run_before_exit(|| {
        let had_screen = leave_screen();
        restore_terminal();
        let words = LAST_WORDS.lock().unwrap_or_else(PoisonError::into_inner);
        if !words.is_empty() {
            if !had_screen {
                print_stderr("\n");
            }
            for line in words.lines() {
                // What is to be copied, and what was drawn for this terminal, is as wide as it is.
                let is_whole = line.contains("crosstie ") || line.contains('\x1b');
                if is_whole || had_screen {
                    print_stderr(&format!("{line}\n"));
                } else {
                    print_sentence(line);
                }
            }
        }
    });
}

/// The terminal's second screen, without a cursor (xterm's private modes 1049 and 25): what was there before comes back.
pub(crate) fn use_screen() {
    SCREEN.store(true, Ordering::SeqCst);
    write("\x1b[?1049h\x1b[?25l");
}

pub(crate) fn screen_is_used() -> bool {
    SCREEN.load(Ordering::SeqCst)
}

/// Whether it was in use.
pub(crate) fn leave_screen() -> bool {
    let was_used = SCREEN.swap(false, Ordering::SeqCst);
    if was_used {
        write("\x1b[?25h\x1b[?1049l");
    }
    was_used
}

fn write(text: &str) {
    let mut stdout = io::stdout().lock();
    let _ = stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush());
}
