//! What whoever sits at the terminal sees while nodes are worked on, and is asked.

mod charset;
mod console;
mod drawn_area;
mod end_on_signal;
mod live_board;
mod log;
mod output;
mod password;
mod progress;
mod prompt;
mod serial;
mod size;
mod watch;

pub use console::TerminalConsole;
pub use log::log_to_stderr;
pub use output::{
    ColourChoice, print, print_behind, print_error, print_sentences, print_stderr, print_to_reader,
};
pub use prompt::is_there;
pub use serial::join_serial_line;
pub use watch::WatchOutput;
