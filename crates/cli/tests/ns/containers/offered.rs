//! Every command that is offered runs as it is printed, and one rule says which cluster file counts.

use std::{
    os::unix::fs::symlink,
    path::Path,
    process::{Command, Stdio},
};

use crosstie_lab::Lab;
use tempfile::TempDir;

use crate::common::{lab::containers, sshd::crosstie};

/// A person in a folder, with this lab among theirs.
struct Shell {
    folder: TempDir,
}

impl Shell {
    fn new(lab: &Lab) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let labs = folder.path().join("state/crosstie");
        std::fs::create_dir_all(&labs).unwrap();
        symlink(lab.directory().parent().unwrap(), labs.join("labs")).unwrap();
        std::fs::create_dir(folder.path().join("bin")).unwrap();
        symlink(crosstie(), folder.path().join("bin/crosstie")).unwrap();
        std::fs::create_dir(folder.path().join("work")).unwrap();
        Self { folder }
    }

    /// As it would be pasted: its status, and all that it said.
    fn run(&self, line: &str) -> (i32, String) {
        let path = std::env::var("PATH").unwrap();
        let bin = self.folder.path().join("bin");
        let output = Command::new("sh")
            .args(["-c", line])
            .current_dir(self.folder.path().join("work"))
            .env("PATH", format!("{}:{path}", bin.display()))
            .env("XDG_STATE_HOME", self.folder.path().join("state"))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8(said).unwrap();
        (output.status.code().unwrap_or(-1), said)
    }

    fn done(&self, line: &str) -> String {
        let (code, said) = self.run(line);
        assert_eq!(code, 0, "{line}: {said}");
        said
    }

    /// The command that `said` offers for this verb, run; what it said.
    fn follow(&self, said: &str, verb: &str) -> String {
        let line = offered(said, verb);
        if line.contains(" --watch") {
            let (code, said) = self.run(&format!("timeout 15 {line}"));
            assert_eq!(code, 124, "{line}: {said}");
            return said;
        }
        let (mut code, mut said) = self.run(&line);
        if said.contains("pass --yes") {
            (code, said) = self.run(&format!("{line} --yes"));
        }
        // 1 is a finding, and containers have some.
        assert!(code == 0 || code == 1, "{line}: {code} {said}");
        said
    }
}

fn offered(said: &str, verb: &str) -> String {
    let begin = format!("crosstie {verb}");
    let found = said.lines().find_map(|line| {
        let (_, rest) = line.split_once(&begin)?;
        let rest = rest.split("    ").next()?;
        Some(format!("{begin}{rest}"))
    });
    found.unwrap_or_else(|| panic!("no {verb} is offered: {said}"))
}

#[test]
fn commands_that_are_offered_run_as_they_are_printed() {
    let lab = containers("two-sparks");
    let shell = Shell::new(&lab);
    let name = lab.name();

    let said = shell.done(&format!("crosstie scan --lab {name}"));
    assert!(said.contains("cluster file: the lab's own"), "{said}");
    shell.follow(&said, "doctor");
    let said = shell.done(&format!("crosstie scan --lab {name} spark-b --sudo"));
    assert_eq!(
        offered(&said, "doctor"),
        format!("crosstie doctor spark-b --lab {name} --sudo")
    );
    assert!(!said.contains("spark-a"), "{said}");
    let config = lab.ssh_config();
    let config = config.display();
    let said = shell.done(&format!("crosstie scan spark-a --ssh-config '{config}'"));
    shell.follow(&said, "doctor");

    let said = shell.done(&format!("crosstie init --lab {name} --listen 4"));
    let said = shell.follow(&said, "plan");
    assert!(said.contains("cluster file: cluster.toml"), "{said}");
    let said = shell.follow(&said, "apply");
    assert!(said.contains("confirmed"), "{said}");

    // The same file counts for all of them, so nothing is left to do.
    let said = shell.done(&format!("crosstie plan --lab {name}"));
    assert!(said.contains("nothing to do"), "{said}");
    let said = shell.done(&format!("crosstie up --lab {name} --yes --force"));
    assert!(said.contains("nothing to do"), "{said}");
    shell.follow(&said, "doctor");

    // An ssh configuration of one's own, and another file.
    let reach = format!("--ssh-config '{config}' --become-password-fd 0 < password");
    std::fs::write(
        shell.folder.path().join("work/password"),
        format!("{}\n", lab.password()),
    )
    .unwrap();
    std::fs::create_dir(shell.folder.path().join("work/a b")).unwrap();
    let said = shell.done(&format!(
        "crosstie init spark-a spark-b -o 'a b/sparks.toml' --listen 4 {reach}"
    ));
    let plan = offered(&said, "plan");
    assert!(plan.contains("--cluster 'a b/sparks.toml'"), "{plan}");
    shell.done(&format!("{plan} < password"));

    let said = shell.done(&format!("crosstie rollback --lab {name} spark-a --yes"));
    assert!(said.contains("rolled back"), "{said}");
    let status = shell.run(&format!("crosstie status --lab {name}")).1;
    assert!(
        status.contains("undone by `crosstie rollback` at 20"),
        "{status}"
    );
    assert!(Path::new(&shell.folder.path().join("work/cluster.toml")).exists());
}
