//! What a person sees on terminals of three widths: tmux keeps the screens, which are compared with recorded ones.

mod lock_out;
mod many;
mod trust;
mod r#try;
mod up;
mod watch;

/// Of a telephone, of a terminal as it opens, and of one that somebody made wider.
const WIDTHS: [usize; 3] = [40, 80, 120];
const LINES: usize = 24;
