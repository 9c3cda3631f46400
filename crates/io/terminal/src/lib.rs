//! What whoever sits at the terminal sees while nodes are worked on, and is asked.

mod board;
mod last_words;
mod password;
mod progress;
mod prompt;

pub use board::{Live, line};
pub use last_words::{leave_terminal_on_signals, set_last_words};
pub use password::ask_password;
pub use progress::{Progress, View};
pub use prompt::{approve, approve_before, is_there};
