//! The JSON schemas of everything that programs read or write.

use schemars::Schema;

use crate::{
    bench, change, compare, discover, doctor, document, env, init, launch, nccl_log, plan, prove,
    run_report, scan, status, trust, up,
};

pub struct NamedSchema {
    /// As `crosstie schema` takes it.
    pub name: &'static str,
    /// What it describes.
    pub of: &'static str,
    pub schema: fn() -> Schema,
}

const fn named(name: &'static str, of: &'static str, schema: fn() -> Schema) -> NamedSchema {
    NamedSchema { name, of, schema }
}

pub const SCHEMAS: &[NamedSchema] = &[
    named("scan", "`crosstie scan --json`", scan::schema),
    named("doctor", "`crosstie doctor --json`", doctor::schema),
    named(
        "discover",
        "`crosstie scan --discover --json`",
        discover::schema,
    ),
    named(
        "explain",
        "`crosstie explain --nccl-log FILE --json`",
        nccl_log::schema,
    ),
    named("plan", "`crosstie plan --json`", plan::schema),
    named("init", "`crosstie init --json`", init::schema),
    named(
        "apply",
        "`crosstie apply --json`, and that of `rollback` and `uninstall`",
        change::schema,
    ),
    named("status", "`crosstie status --json`", status::schema),
    named("bench", "`crosstie bench --json`", bench::schema),
    named("prove", "`crosstie prove --json`", prove::schema),
    named("env", "`crosstie env --json`", env::schema),
    named(
        "launch",
        "`crosstie launch torchrun --json` and other engines",
        launch::launched_schema,
    ),
    named(
        "launch-plan",
        "`crosstie launch torchrun --dry-run --json` and other engines",
        launch::plan_schema,
    ),
    named(
        "launch-status",
        "`crosstie launch status --json`",
        launch::status_schema,
    ),
    named(
        "launch-stop",
        "`crosstie launch stop --json`",
        launch::stopped_schema,
    ),
    named("report", "`crosstie report RUN --json`", run_report::schema),
    named(
        "compare",
        "`crosstie report OLD NEW --json`",
        compare::schema,
    ),
    named("up", "`crosstie up --json`", up::schema),
    named("trust", "`crosstie trust --json`", trust::schema),
    named(
        "error",
        "What `--json` prints where a command could not do what it was asked to",
        document::failure_schema,
    ),
    named(
        "cluster",
        "The cluster file, for editors",
        plan::cluster_schema,
    ),
];
