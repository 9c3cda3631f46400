//! The binary, as a person would run it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::Value;

pub(crate) fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

/// In a folder of `fixtures/`, or any other whose whole path is given.
pub(crate) fn command(folder: impl AsRef<Path>, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crosstie"));
    command
        .args(arguments)
        .current_dir(fixtures().join(folder))
        .env_remove("CROSSTIE_LOG");
    command
}

/// The exit status, and what was printed on standard output and standard error.
pub(crate) fn said(output: Output) -> (i32, String, String) {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

/// Without a terminal.
pub(crate) fn crosstie(folder: impl AsRef<Path>, arguments: &[&str]) -> (i32, String, String) {
    said(command(folder, arguments).output().unwrap())
}

/// The schema of an output, as it is published and as the binary prints it.
pub(crate) struct Schema {
    schemas: boon::Schemas,
    index: boon::SchemaIndex,
}

impl Schema {
    pub(crate) fn published(name: &str) -> Self {
        let (code, printed, _) = crosstie(".", &["schema", name]);
        assert_eq!(code, 0);
        let file = format!("docs/schema/{name}.json");
        let published = fs::read_to_string(fixtures().join("..").join(&file));
        assert_eq!(
            published.unwrap_or_default(),
            printed,
            "stale: crosstie schema {name} > {file}"
        );
        let mut compiler = boon::Compiler::new();
        let schema = serde_json::from_str(&printed).unwrap();
        compiler.add_resource("schema.json", schema).unwrap();
        let mut schemas = boon::Schemas::new();
        let index = compiler.compile("schema.json", &mut schemas).unwrap();
        Self { schemas, index }
    }

    pub(crate) fn allows(&self, document: &Value) -> Result<(), String> {
        let valid = self.schemas.validate(document, self.index);
        valid.map_err(|error| error.to_string())
    }
}
