//! A person at a shell, in a folder of their own.

use std::{
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crosstie_lab::Lab;
use tempfile::TempDir;

use super::sshd::crosstie;

/// What a person calls the lab.
pub const LAB: &str = "sparks";

/// Where labs are below a person's home, unless they say otherwise.
const LABS: &str = "home/.local/state/crosstie/labs";

pub struct Shell {
    folder: TempDir,
}

impl Shell {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in [LABS, "bin", "work"] {
            std::fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        symlink(crosstie(), folder.path().join("bin/crosstie")).unwrap();
        Self { folder }
    }

    /// With this lab as their only one.
    pub fn with_lab(lab: &Lab) -> Self {
        let shell = Self::new();
        let labs = shell.folder.path().join(LABS);
        symlink(lab.directory(), labs.join(LAB)).unwrap();
        shell
    }

    /// Where they are.
    pub fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub fn environment(&self) -> Vec<(&'static str, String)> {
        let path = std::env::var("PATH").unwrap();
        let shown = |name: &str| self.folder.path().join(name).display().to_string();
        vec![
            ("PATH", format!("{}:{path}", shown("bin"))),
            ("HOME", shown("home")),
        ]
    }

    /// A line as it would be pasted: its status, and all that it said. There is no terminal.
    pub fn run(&self, line: &str) -> (i32, String) {
        let output = Command::new("sh")
            .args(["-c", line])
            .current_dir(self.work())
            .env_remove("XDG_STATE_HOME")
            .envs(self.environment())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8(said).unwrap();
        (output.status.code().unwrap_or(-1), said)
    }

    pub fn done(&self, line: &str) -> String {
        let (code, said) = self.run(line);
        assert_eq!(code, 0, "{line}: {said}");
        said
    }
}
