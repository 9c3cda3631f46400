//! What whoever sits at the terminal sees while nodes are worked on, and is asked.

mod board;
mod progress;
mod prompt;

pub use board::{Live, line};
pub use progress::{Progress, View};
pub use prompt::{approve, approve_before, is_there};
