//! The script that starts an agent, run by this machine's shells.

use std::{
    env,
    fs::{self, DirBuilder, File},
    io::{BufRead, BufReader, Write},
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, SystemTime},
};

use crosstie_reach::binary::build_of;
use flate2::{Compression, write::GzEncoder};
use tempfile::TempDir;

const AGENT: &str = "#!/bin/sh\necho the $1 ran\n";

struct Home {
    folder: TempDir,
    shell: &'static str,
}

impl Home {
    fn new(shell: &'static str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self { folder, shell }
    }

    fn cache(&self) -> PathBuf {
        self.folder.path().join(".cache/crosstie/bin")
    }

    fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.cache()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect()
    }

    fn start(&self) -> Child {
        self.command().spawn().unwrap()
    }

    fn command(&self) -> Command {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/src/connect/bootstrap.sh");
        let mut command = Command::new(self.shell);
        command
            .arg(script)
            .env("HOME", self.folder.path())
            .env_remove("XDG_CACHE_HOME")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        command
    }

    /// What the script says when it is told this. The script itself comes from a file, so all of this is for what it runs.
    fn run(&self, told: impl AsRef<[u8]>) -> String {
        run(self.command(), told)
    }
}

fn run(mut command: Command, told: impl AsRef<[u8]>) -> String {
    let mut shell = command.spawn().unwrap();
    let mut input = shell.stdin.take().unwrap();
    input.write_all(told.as_ref()).unwrap();
    drop(input);
    let said = shell.wait_with_output().unwrap().stdout;
    String::from_utf8(said)
        .unwrap()
        .replace("CROSSTIE-6b1f0d3a ", "")
}

/// These words, and the agent as it is sent to a node with gzip.
fn with_agent(words: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(AGENT.as_bytes()).unwrap();
    let compressed = encoder.finish().unwrap();
    let words = format!("{words}{}\n", compressed.len());
    [words.as_bytes(), &compressed].concat()
}

fn sum(folder: &Path) -> String {
    let path = folder.join("agent");
    fs::write(&path, AGENT).unwrap();
    build_of(&path).unwrap()
}

#[test]
fn a_binary_is_asked_for_once_and_then_run() {
    for shell in ["sh", "bash"] {
        let home = Home::new(shell);
        let sum = sum(home.folder.path());
        let words = format!("user {sum}\n");
        let mut folders = DirBuilder::new();
        folders.recursive(true).mode(0o755);
        folders.create(home.cache()).unwrap();
        let old = File::create(home.cache().join("old")).unwrap();
        let days = |count: u64| SystemTime::now() - Duration::from_secs(count * 86_400);
        old.set_modified(days(9)).unwrap();
        let recent = File::create(home.cache().join("recent")).unwrap();
        recent.set_modified(days(2)).unwrap();

        let said = home.run(with_agent(&words));
        let lines: Vec<&str> = said.lines().filter(|line| !line.is_empty()).collect();
        assert!(lines[0].starts_with("system Linux "), "{said}");
        assert_eq!(
            lines[1..],
            ["need gzip", "start", "the agent ran"],
            "{shell}"
        );
        let mut files = home.files();
        files.sort();
        let mut expected = [sum.clone(), "recent".to_owned()];
        expected.sort();
        assert_eq!(files, expected);

        let said = home.run(&words);
        assert!(
            !said.contains("need") && said.contains("the agent ran"),
            "{said}"
        );
        fs::write(home.cache().join(&sum), "#!/bin/sh\necho something else\n").unwrap();
        let said = home.run(with_agent(&words));
        assert!(
            said.contains("need") && said.contains("the agent ran"),
            "{said}"
        );
    }
}

/// Somebody's undo takes the empty folder away just before the agent's file is made there.
#[test]
fn a_folder_that_goes_away_meanwhile_is_made_again() {
    for shell in ["sh", "bash"] {
        let home = Home::new(shell);
        let sum = sum(home.folder.path());
        let programs = home.folder.path().join("programs");
        fs::create_dir(&programs).unwrap();
        let mktemp = programs.join("mktemp");
        let once = "#!/bin/sh\nrm -f \"$0\"\nrmdir -p --ignore-fail-on-non-empty \"${1%/*}\"\nexec /usr/bin/mktemp \"$@\"\n";
        fs::write(&mktemp, once).unwrap();
        fs::set_permissions(&mktemp, fs::Permissions::from_mode(0o755)).unwrap();
        let path = format!("{}:{}", programs.display(), env::var("PATH").unwrap());
        let mut command = home.command();
        command.env("PATH", path);
        let said = run(command, with_agent(&format!("user {sum}\n")));
        assert!(!mktemp.exists() && said.contains("the agent ran"), "{said}");
    }
}

/// Whoever could write there could put another agent in its place.
#[test]
fn nothing_is_run_from_a_folder_that_others_can_write_to() {
    for shell in ["sh", "bash"] {
        let home = Home::new(shell);
        let sum = sum(home.folder.path());
        let words = format!("user {sum}\n");
        let said = home.run(with_agent(&words));
        assert!(said.contains("the agent ran"), "{said}");
        let cache = home.cache();
        let mode = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        for folder in [cache.as_path(), cache.parent().unwrap()] {
            for bits in [0o720, 0o702, 0o777, 0o1777] {
                mode(folder, bits);
                let said = home.run(with_agent(&words));
                let expected = format!("failed shared {}", folder.display());
                assert!(said.contains(&expected), "{bits:o}: {said}");
                assert!(!said.contains("the agent ran") && !said.contains("need"));
            }
            mode(folder, 0o755);
        }
        // The file itself is sent again.
        mode(&cache.join(&sum), 0o722);
        let said = home.run(with_agent(&words));
        assert!(
            said.contains("need") && said.contains("the agent ran"),
            "{said}"
        );
    }
}

/// It has arrived whole, and whoever sent it is gone before it is started.
#[test]
fn an_agent_that_nobody_hears_start_is_not_left() {
    for shell in ["sh", "bash"] {
        let home = Home::new(shell);
        let sum = sum(home.folder.path());
        let mut child = home.start();
        let mut heard = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut input = child.stdin.take().unwrap();
        writeln!(input, "user {sum}").unwrap();
        while !heard.next().unwrap().unwrap().contains("need") {}
        drop(heard);
        input.write_all(&with_agent("")).unwrap();
        assert!(!child.wait().unwrap().success());
        assert!(!home.folder.path().join(".cache").exists(), "{shell}");
    }
}

#[test]
fn a_broken_connection_leaves_nothing() {
    let home = Home::new("sh");
    let sum = sum(home.folder.path());
    let whole = with_agent(&format!("user {sum}\n"));
    let other = with_agent(&format!("user {}\n", "0".repeat(64)));
    for (sent, complaint) in [
        (&whole[..whole.len() - 10], "failed write".to_owned()),
        (&other, format!("failed sum {}", AGENT.len())),
    ] {
        let said = home.run(sent);
        assert!(said.contains(&complaint), "{said}");
        // Not even the folders that were made for it.
        assert!(!home.folder.path().join(".cache").exists());
    }
    for told in ["", "user", "dance 00 1\n"] {
        let said = home.run(told);
        assert!(
            !said.contains("need") && !said.contains("start"),
            "{told}: {said}"
        );
    }
}

/// It is gone in sudo's environment, and the agent of a later command without root is there.
#[test]
fn where_the_user_keeps_caches_is_known_as_root() {
    let home = Home::new("sh");
    let sudo = home.folder.path().join("sudo");
    fs::write(
        &sudo,
        "#!/bin/sh\nshift\nexec env -i PATH=\"$PATH\" \"$@\"\n",
    )
    .unwrap();
    fs::set_permissions(&sudo, fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var("PATH").unwrap();
    let known = |cache: &str| {
        let mut shell = home
            .command()
            .env("PATH", format!("{}:{path}", home.folder.path().display()))
            .env("XDG_CACHE_HOME", cache)
            .spawn()
            .unwrap();
        let told = "sudo 00\necho \"<$CROSSTIE_USER_CACHE>\"\n";
        let mut input = shell.stdin.take().unwrap();
        input.write_all(told.as_bytes()).unwrap();
        drop(input);
        let said = shell.wait_with_output().unwrap().stdout;
        String::from_utf8(said)
            .unwrap()
            .lines()
            .last()
            .unwrap()
            .to_owned()
    };
    assert_eq!(known("/scratch/alice-1/cache"), "</scratch/alice-1/cache>");
    for other in ["", "cache", "/x y", "/$(id)", "/x;id", "/x'"] {
        assert_eq!(known(other), "<>", "{other}");
    }
}
