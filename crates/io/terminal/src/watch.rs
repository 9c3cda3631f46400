//! A whole screen that is drawn over and over: only the lines that changed, beside what was there before.

use std::{
    fmt::Write as _,
    io::{self, Write},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use crosstie_doctor::Diagnosis;
use crosstie_report::{
    doctor::{DoctorWatch, FindingDetail, time_of_day},
    document::JsonDocument,
    text::Palette,
    up::TerminalSize,
};

use crate::{
    ColourChoice, TerminalConsole,
    charset::for_terminal,
    end_on_signal::{leave_screen, screen_is_used, set_interrupt_message, use_screen},
    output::print_to_reader,
    size,
};

/// The clock goes on while nodes are waited for.
const REDRAW_INTERVAL: Duration = Duration::from_millis(250);

/// What the doctor sees, look by look: as JSON, on a screen of its own, or line by line.
pub enum WatchOutput<'a> {
    Json,
    Screen(&'a TerminalConsole, WatchScreen),
    Lines(Box<DoctorWatch>),
}

impl<'a> WatchOutput<'a> {
    pub fn new(
        detail: FindingDetail,
        json: bool,
        console: &'a TerminalConsole,
        colour: ColourChoice,
    ) -> Self {
        if json {
            Self::Json
        } else if colour.draws_screen() {
            Self::Screen(console, WatchScreen::new(detail, console.palette))
        } else {
            Self::Lines(Box::new(DoctorWatch::new(detail, console.palette)))
        }
    }

    /// One more look. A reader who has seen enough is an error.
    pub fn see(&mut self, diagnosis: Diagnosis) -> io::Result<()> {
        match self {
            Self::Json => {
                let line = serde_json::to_string(&JsonDocument::new(&diagnosis))?;
                print_to_reader(&format!("{line}\n"))
            }
            Self::Screen(console, screen) => {
                console.stop_drawing();
                screen.see(diagnosis);
                Ok(())
            }
            Self::Lines(watch) => print_to_reader(&watch.see(diagnosis, &now())),
        }
    }
}

/// All of a terminal's screen.
pub struct WatchScreen {
    shared: Arc<Mutex<Shown>>,
}

struct Shown {
    watch: DoctorWatch,
    /// Line by line.
    drawn: Vec<String>,
    size: Option<TerminalSize>,
}

impl WatchScreen {
    fn new(detail: FindingDetail, palette: Palette) -> Self {
        Self {
            shared: Arc::new(Mutex::new(Shown {
                watch: DoctorWatch::new(detail, palette),
                drawn: Vec::new(),
                size: None,
            })),
        }
    }

    /// One more look. The first one takes the screen, which goes back when the program ends.
    fn see(&self, diagnosis: Diagnosis) {
        let mut shown = lock(&self.shared);
        let is_first = shown.size.is_none();
        shown.watch.see(diagnosis, &now());
        set_interrupt_message(&for_terminal(shown.watch.last_words().trim_end()));
        if is_first {
            use_screen();
        }
        shown.draw();
        drop(shown);
        if is_first {
            let shared = Arc::clone(&self.shared);
            thread::spawn(move || {
                while screen_is_used() {
                    lock(&shared).draw();
                    thread::sleep(REDRAW_INTERVAL);
                }
            });
        }
    }
}

impl Drop for WatchScreen {
    fn drop(&mut self) {
        leave_screen();
    }
}

fn lock(shared: &Mutex<Shown>) -> MutexGuard<'_, Shown> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The time of the day.
fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    time_of_day(since.map_or(0, |since| since.as_secs()))
}

impl Shown {
    fn draw(&mut self) {
        let size = size::of(io::stdout());
        let lines = self.watch.lines(&now(), size);
        let mut out = String::new();
        if self.size.replace(size) != Some(size) {
            // ECMA-48: ED. Nothing of what was drawn is where it was.
            out.push_str("\x1b[2J");
            self.drawn.clear();
        }
        let count = lines.len().max(self.drawn.len());
        for index in 0..count {
            let line = lines.get(index).map_or("", String::as_str);
            if self.drawn.get(index).map(String::as_str) != Some(line) {
                let line = for_terminal(line);
                // CUP, EL. Writing to a String cannot fail.
                let _ = write!(out, "\x1b[{};1H{line}\x1b[K", index + 1);
            }
        }
        self.drawn = lines;
        if out.is_empty() {
            return;
        }
        let mut stdout = io::stdout().lock();
        // Nobody is left to see it if it is gone.
        let _ = stdout
            .write_all(out.as_bytes())
            .and_then(|()| stdout.flush());
    }
}
