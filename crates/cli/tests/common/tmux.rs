//! A person at a terminal: tmux keeps the screen that they would see.

use std::{
    process::{Command, Output},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

use super::{shell::Shell, sshd::crosstie};

/// For anything that is waited for on a busy machine.
const SCREEN_TIMEOUT: Duration = Duration::from_secs(120);
const PROMPT: &str = "$ ";

pub struct Terminal {
    socket: String,
    columns: usize,
}

impl Terminal {
    pub fn new(shell: &Shell, columns: usize, lines: usize) -> Self {
        Self::with(shell, columns, lines, &[("LANG", "C.UTF-8")])
    }

    /// With these variables, too.
    pub fn with(shell: &Shell, columns: usize, lines: usize, variables: &[(&str, &str)]) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let terminal = Self {
            socket: format!("crosstie-test-{}-{number}", std::process::id()),
            columns,
        };
        let mut environment = vec!["env".to_owned(), "-i".to_owned(), "TERM=screen".to_owned()];
        let own = shell.environment();
        let own = own.iter().map(|(name, value)| (*name, value.as_str()));
        for (name, value) in own.chain(variables.iter().copied()) {
            environment.push(format!("{name}={value}"));
        }
        environment.extend([format!("PS1={PROMPT}"), "sh".to_owned()]);
        let (x, y) = (columns.to_string(), lines.to_string());
        let mut command = terminal.command(&["new-session", "-d", "-x", &x, "-y", &y]);
        command.current_dir(shell.work()).args(environment);
        ran(&mut command);
        terminal.until("a prompt", |screen| screen.ends_with(PROMPT.trim()));
        terminal
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("tmux");
        command
            .args(["-u", "-f", "/dev/null", "-L", &self.socket])
            .args(arguments)
            .env("LANG", "C.UTF-8")
            .env_remove("TMUX");
        command
    }

    /// As tmux calls them: `C-c`, `Enter`, `y`.
    pub fn keys(&self, keys: &[&str]) {
        let mut command = self.command(&["send-keys"]);
        ran(command.args(keys));
    }

    pub fn line(&self, text: &str) {
        ran(&mut self.command(&["send-keys", "-l", text]));
        self.keys(&["Enter"]);
    }

    /// What is on the screen, without blank lines at its end.
    pub fn screen(&self) -> String {
        self.captured(&[])
    }

    /// That and all that has gone above it.
    pub fn scrollback(&self) -> String {
        self.captured(&["-S", "-"])
    }

    fn captured(&self, arguments: &[&str]) -> String {
        let mut command = self.command(&["capture-pane", "-p"]);
        let output = ran(command.args(arguments));
        let text = String::from_utf8(output.stdout).unwrap();
        text.trim_end().to_owned()
    }

    pub fn until(&self, what: &str, is_so: impl Fn(&str) -> bool) -> String {
        let end = Instant::now() + SCREEN_TIMEOUT;
        loop {
            let screen = self.screen();
            if is_so(&screen) {
                return screen;
            }
            assert!(Instant::now() < end, "no {what}:\n{screen}");
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// Also where a narrow terminal breaks it between words.
    pub fn until_shown(&self, text: &str) -> String {
        self.until(text, |screen| flat(screen).contains(text))
    }

    /// A line is run to its end: all that it said, and its status.
    pub fn run(&self, line: &str) -> (String, i32) {
        self.start(line);
        self.ended()
    }

    /// That, with lines that the terminal broke in one piece: what a person copies.
    fn unbroken(&self) -> String {
        self.captured(&["-J", "-S", "-"])
    }

    /// On an empty screen.
    pub fn start(&self, line: &str) {
        // On one that is empty already, nobody could tell when it has been cleared.
        if self.screen() != PROMPT.trim() {
            self.line("clear");
            self.until("an empty screen", |screen| screen == PROMPT.trim());
        }
        ran(&mut self.command(&["clear-history"]));
        self.line(line);
    }

    /// Once what was started is over. Nothing of it is left on the line of the prompt.
    pub fn ended(&self) -> (String, i32) {
        self.until("a prompt", |screen| {
            screen.lines().next_back() == Some(PROMPT.trim()) && screen.lines().count() > 1
        });
        let said = self.scrollback();
        self.line("echo status $?");
        let shown = self.until("a status", |screen| {
            let mut lines = screen.lines().rev();
            lines.next() == Some(PROMPT.trim())
                && lines.next().is_some_and(|line| line.starts_with("status "))
        });
        let status = shown
            .lines()
            .rev()
            .find_map(|line| line.strip_prefix("status "));
        let said = said.trim_end_matches(PROMPT.trim()).trim_end().to_owned();
        (said, status.unwrap().parse().unwrap())
    }

    /// Every command that it shows parses, with all that stands behind it.
    pub fn offers_what_parses(&self) {
        for line in self.unbroken().lines() {
            let Some((before, command)) = line.split_once("crosstie ") else {
                continue;
            };
            let end = command.find("    ").unwrap_or(command.len());
            let words: Vec<&str> = command[..end].split_whitespace().collect();
            // A shell's own line, and prose.
            if before.ends_with(PROMPT) || !(before.is_empty() || before.ends_with(' ')) {
                continue;
            }
            let help = Command::new(crosstie()).args(&words).arg("--help").output();
            let help = help.unwrap();
            let said = String::from_utf8_lossy(&help.stderr);
            assert!(help.status.success(), "crosstie {words:?}: {said}");
        }
    }

    /// No line of ours is broken by the terminal but those that a person copies, and words that are wider than it.
    pub fn fits(&self) {
        let is_copied = |line: &str| {
            let mut words = line.split_whitespace();
            let is_wide = words.any(|word| word.chars().count() > self.columns);
            let is_setting = line.trim_start().starts_with("export ");
            is_wide || is_setting || line.contains("crosstie ") || line.contains("--")
        };
        let said = self.unbroken();
        let lines = said.lines().map(str::trim_end);
        let torn: Vec<&str> = lines
            .filter(|line| line.chars().count() > self.columns && !is_copied(line))
            .collect();
        assert!(torn.is_empty(), "torn: {torn:#?}\n{said}");
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.command(&["kill-server"]).output();
    }
}

fn flat(screen: &str) -> String {
    screen.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn ran(command: &mut Command) -> Output {
    let output = command
        .output()
        .expect("cannot run tmux (Debian package tmux)");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?}: {said}");
    output
}

/// What differs from run to run, replaced by what is as long: times, run ids, seconds.
pub fn steady(screen: &str) -> String {
    let mut lines = Vec::new();
    let mut is_took = false;
    for line in screen.lines() {
        // Which stages are worth a figure depends on the machine, and so does how many lines they take.
        is_took = line.starts_with("  took ") || (is_took && line.starts_with("     "));
        if line.starts_with("  took ") {
            lines.push("  took      N".to_owned());
        } else if !is_took {
            lines.push(steady_line(line));
        }
    }
    lines.join("\n")
}

fn steady_line(line: &str) -> String {
    let shape: String = line
        .chars()
        .map(|letter| if letter.is_ascii_digit() { '0' } else { letter })
        .collect();
    let mut steady = line.to_owned();
    for pattern in [
        "00:00:00",
        "00000000T000000Z-",
        "0000-00-00T00:00:00Z",
        "0000-00-00 00:00",
    ] {
        for (at, _) in shape.match_indices(pattern) {
            let end = at + pattern.len();
            // A run's id ends in eight hexadecimal digits.
            let end = if pattern.ends_with('-') { end + 8 } else { end };
            if line.is_char_boundary(end.min(line.len())) && end <= line.len() {
                let digits = line[at..end].chars().map(|letter| match letter {
                    '0'..='9' | 'a'..='f' => '0',
                    other => other,
                });
                steady.replace_range(at..end, &digits.collect::<String>());
            }
        }
    }
    seconds(&steady)
}

/// `12 s`: as many seconds as it took.
fn seconds(line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let is_number = |word: &str| {
        !word.is_empty()
            && word
                .chars()
                .all(|letter| letter.is_ascii_digit() || letter == '.')
    };
    let mut out = Vec::new();
    for (index, word) in words.iter().enumerate() {
        let next = words.get(index + 1).copied().unwrap_or_default();
        let is_seconds = next == "s" || next.starts_with("s)") || next.starts_with("s,");
        let bare = word.trim_start_matches('(');
        if is_number(bare) && is_seconds {
            out.push(word.replace(bare, "N"));
        } else {
            out.push((*word).to_owned());
        }
    }
    out.join(" ")
}

/// Compares with the screen that was recorded for a terminal of this width.
pub fn recorded(name: &str, columns: usize, screen: &str) {
    insta::assert_snapshot!(format!("{name}_{columns}"), steady(screen));
}
