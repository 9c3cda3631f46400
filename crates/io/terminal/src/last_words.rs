//! What a person is told who interrupts us.

use std::{
    io::{self, Write},
    sync::{Mutex, PoisonError},
};

use crosstie_reach::do_last;

use crate::password::restore_terminal;

static LAST_WORDS: Mutex<String> = Mutex::new(String::new());

/// From now on, until they are changed again.
pub fn set_last_words(words: &str) {
    let mut last = LAST_WORDS.lock().unwrap_or_else(PoisonError::into_inner);
    words.clone_into(&mut last);
}

/// From now on a signal that ends us leaves the terminal as it was, with the last words on it.
pub fn leave_terminal_on_signals() {
    do_last(|| {
        restore_terminal();
        let words = LAST_WORDS.lock().unwrap_or_else(PoisonError::into_inner);
        if !words.is_empty() {
            let _ = writeln!(io::stderr(), "\n{words}");
        }
    });
}
