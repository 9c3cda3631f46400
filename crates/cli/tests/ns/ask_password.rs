//! `--ask-become-pass` on a real terminal.

use std::{
    fs::{File, OpenOptions},
    io::{Read, Write},
    process::{Child, Command, Output, Stdio},
    sync::{Arc, Mutex},
    thread,
};

use rustix::{
    process::{Pid, Signal, kill_process},
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
    termios::{LocalModes, tcgetattr},
};
use serde_json::Value;

use crate::common::sshd::{NodeSetup, PASSWORD, SshNodes, eventually, prepared};

/// A terminal that somebody sits at, and a scan that asks there.
struct Seat {
    keys: File,
    terminal: File,
    screen: Arc<Mutex<String>>,
    scan: Child,
}

impl Seat {
    fn take(place: &SshNodes) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let open = || {
            OpenOptions::new()
                .read(true)
                .write(true)
                .open(&name)
                .unwrap()
        };
        let inner = place.scan(&["node", "--json", "--sudo", "--ask-become-pass"]);
        let mut command = Command::new("setsid");
        command
            .arg("--ctty")
            .arg(inner.get_program())
            .args(inner.get_args());
        for (key, value) in inner.get_envs() {
            match value {
                Some(value) => command.env(key, value),
                None => command.env_remove(key),
            };
        }
        let scan = command
            .stdin(open())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("cannot run setsid (Debian package util-linux)");
        let keys = File::from(master);
        let screen = Arc::new(Mutex::new(String::new()));
        let (mut shown, board) = (keys.try_clone().unwrap(), Arc::clone(&screen));
        thread::spawn(move || {
            let mut buffer = [0; 256];
            while let Ok(length @ 1..) = shown.read(&mut buffer) {
                let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
                board.lock().unwrap().push_str(&text);
            }
        });
        let seat = Self {
            keys,
            terminal: open(),
            screen,
            scan,
        };
        prepared("the question", || {
            seat.screen().contains("password for the nodes")
        });
        assert!(!seat.echoes());
        seat
    }

    fn screen(&self) -> String {
        self.screen.lock().unwrap().clone()
    }

    fn echoes(&self) -> bool {
        tcgetattr(&self.terminal)
            .unwrap()
            .local_modes
            .contains(LocalModes::ECHO)
    }

    fn end(self) -> Output {
        let output = self.scan.wait_with_output().unwrap();
        eventually("an echo as before", || {
            tcgetattr(&self.terminal)
                .unwrap()
                .local_modes
                .contains(LocalModes::ECHO)
        });
        assert!(!self.screen.lock().unwrap().contains(PASSWORD));
        output
    }
}

fn place() -> SshNodes {
    let mut place = SshNodes::new();
    let furnish = NodeSetup {
        sudo: "alice ALL=(ALL) ALL",
        ..NodeSetup::default()
    };
    place.node("node", &furnish);
    place
}

#[test]
fn ns_the_password_is_asked_on_the_terminal() {
    let place = place();
    let mut seat = Seat::take(&place);
    writeln!(seat.keys, "{PASSWORD}").unwrap();
    let output = seat.end();
    let nodes: Vec<Value> = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {output:?}"));
    let unread = nodes[0]["unread"].as_array().unwrap();
    assert!(
        !unread.iter().any(|gap| gap["root_would"] == true),
        "{unread:?}"
    );
}

#[test]
fn ns_a_person_who_leaves_finds_the_terminal_as_it_was() {
    let place = place();
    let mut seat = Seat::take(&place);
    seat.keys.write_all(b"corr\x03").unwrap();
    let output = seat.end();
    assert_eq!(signal_of(&output), Some(2), "{output:?}");
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        let seat = Seat::take(&place);
        kill_process(Pid::from_child(&seat.scan), signal).unwrap();
        let output = seat.end();
        assert_eq!(signal_of(&output), Some(signal.as_raw()), "{output:?}");
    }
}

fn signal_of(output: &Output) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&output.status)
}

#[test]
fn ns_without_a_terminal_there_is_a_clear_no() {
    let place = place();
    let inner = place.scan(&["node", "--sudo", "--ask-become-pass"]);
    let output = Command::new("setsid")
        .arg("--wait")
        .arg(inner.get_program())
        .args(inner.get_args())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        complaint.contains("cannot ask for the password on the terminal"),
        "{complaint}"
    );
}
