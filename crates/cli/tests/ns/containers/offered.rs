//! Every command that is offered runs as it is printed, and one rule says which cluster file counts.

use crate::common::{
    lab::containers,
    shell::{LAB, Shell},
};

/// The command that `said` offers for this verb, run; what it said.
fn follow(shell: &Shell, said: &str, verb: &str) -> String {
    let line = offered(said, verb);
    if line.contains(" --watch") {
        let (code, said) = shell.run(&format!("timeout 15 {line}"));
        assert_eq!(code, 124, "{line}: {said}");
        return said;
    }
    let (mut code, mut said) = shell.run(&line);
    if said.contains("pass --yes") {
        (code, said) = shell.run(&format!("{line} --yes"));
    }
    // 1 is a finding, and containers have some.
    assert!(code == 0 || code == 1, "{line}: {code} {said}");
    said
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
    let shell = Shell::with_lab(&lab);
    let name = LAB;

    let said = shell.done(&format!("crosstie scan --lab {name}"));
    assert!(said.contains("cluster file: the lab's own"), "{said}");
    follow(&shell, &said, "doctor");
    let said = shell.done(&format!("crosstie scan --lab {name} spark-b --sudo"));
    assert_eq!(
        offered(&said, "doctor"),
        format!("crosstie doctor spark-b --lab {name} --sudo")
    );
    assert!(!said.contains("spark-a"), "{said}");
    let config = lab.ssh_config();
    let config = config.display();
    let said = shell.done(&format!("crosstie scan spark-a --ssh-config '{config}'"));
    follow(&shell, &said, "doctor");

    let said = shell.done(&format!("crosstie init --lab {name} --listen 4"));
    let said = follow(&shell, &said, "plan");
    assert!(said.contains("cluster file: cluster.toml"), "{said}");
    let said = follow(&shell, &said, "apply");
    assert!(said.contains("confirmed"), "{said}");

    // The same file counts for all of them, so nothing is left to do.
    let said = shell.done(&format!("crosstie plan --lab {name}"));
    assert!(said.contains("nothing to do"), "{said}");
    let said = shell.done(&format!("crosstie up --lab {name} --yes --force"));
    assert!(said.contains("nothing to do"), "{said}");
    follow(&shell, &said, "explain");
    follow(&shell, &said, "prove");

    // An ssh configuration of one's own, and another file.
    let reach = format!("--ssh-config '{config}' --become-password-fd 0 < password");
    std::fs::write(
        shell.work().join("password"),
        format!("{}\n", lab.password()),
    )
    .unwrap();
    std::fs::create_dir(shell.work().join("a b")).unwrap();
    let said = shell.done(&format!(
        "crosstie init spark-a spark-b -o 'a b/sparks.toml' --listen 4 {reach}"
    ));
    let plan = offered(&said, "plan");
    assert!(plan.contains("--cluster 'a b/sparks.toml'"), "{plan}");
    shell.done(&format!("{plan} < password"));

    let said = shell.done(&format!("crosstie rollback --lab {name} spark-a --yes"));
    assert!(said.contains("rolled back"), "{said}");
    let status = shell.run(&format!("crosstie status --lab {name}")).1;
    assert!(status.contains("by `crosstie rollback` at 20"), "{status}");
    assert!(shell.work().join("cluster.toml").exists());
}
