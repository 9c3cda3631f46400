//! What every command prints for programs, on nodes: each keeps its closed schema.

use crosstie_lab::hub::CableFault;
use serde_json::Value;

use crate::common::{
    command::Schema,
    lab::containers,
    shell::{LAB, Shell},
};

/// Runs it with `--json`; it must end with one of these statuses and keep this schema.
fn keeps(shell: &Shell, schema: &str, line: &str, statuses: &[i32]) -> Value {
    let (status, said) = shell.run(&format!("crosstie {line} 2> errors"));
    let errors = || std::fs::read_to_string(shell.work().join("errors")).unwrap_or_default();
    assert!(
        statuses.contains(&status),
        "{line}: {status} {said} {}",
        errors()
    );
    let first = said.lines().next().unwrap_or_default();
    // `--watch` prints an object a line.
    let text = if line.contains("--watch") {
        first
    } else {
        &said
    };
    let value = serde_json::from_str(text)
        .unwrap_or_else(|error| panic!("{line}: {error}: {said} {}", errors()));
    let valid = Schema::published(schema).allows(&value);
    valid.unwrap_or_else(|error| panic!("{line}: {error}: {value:#}"));
    value
}

#[test]
fn full_what_is_printed_for_programs_keeps_its_schema() {
    let lab = containers("two-sparks");
    let shell = Shell::with_lab(&lab);
    let keeps = |schema: &str, line: &str, statuses: &[i32]| keeps(&shell, schema, line, statuses);
    let on_lab = |schema: &str, line: &str, statuses: &[i32]| {
        keeps(schema, &format!("{line} --lab {LAB} --json"), statuses)
    };
    on_lab("scan", "scan", &[0]);
    on_lab("trust", "trust --dry-run", &[0]);
    on_lab("error", "up", &[2]);
    on_lab("init", "init --listen 4", &[0]);
    on_lab("plan", "plan", &[0]);
    on_lab("apply", "apply --yes", &[0]);
    // 1 is a finding, and containers have some.
    on_lab("up", "up --yes --force --no-measure", &[0, 1]);
    on_lab("status", "status", &[0]);
    on_lab("doctor", "doctor --interval 0", &[0, 1]);
    let watch = format!("doctor --lab {LAB} --json --watch --interval 1 | head -n 1");
    keeps("doctor", &watch, &[0]);
    on_lab("prove", "prove --sudo --quick", &[0, 1, 2]);
    on_lab("env", "env spark-a --sudo", &[0]);
    lab.fault("spark-a:p0", CableFault::Mtu(1500)).unwrap();
    let listed = keeps("lab-list", "lab list --json", &[0]);
    assert_eq!(listed[0]["nodes"][0]["host"], "spark-a", "{listed:#}");
    let faults = keeps("lab-fault", &format!("lab fault --show --name {LAB}"), &[0]);
    assert_eq!(faults["format"], 1, "{faults:#}");
    on_lab("apply", "rollback --yes", &[0]);
    on_lab("apply", "uninstall --yes", &[0]);
    keeps("error", "lab fault --show --name none-such", &[2]);
}
