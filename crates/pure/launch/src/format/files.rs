//! Shells, dotenv, systemd and NCCL's own file.

use std::{borrow::Cow, fmt::Write};

use crosstie_model::plan::{EngineKind, EngineSetting};

use super::{EnvFormat, EnvFormatError, NodeEnvironment, comment, headline, refuse, with_reasons};

/// To be sourced by any POSIX shell.
pub(super) fn sh(node: &NodeEnvironment) -> String {
    with_reasons(node, sh_line)
}

pub fn sh_line(setting: &EngineSetting) -> String {
    format!("export {}={}", setting.name, quoted(&setting.value))
}

/// One word of a POSIX shell, whatever is in it. zsh takes a word after `=` for a command's path.
pub fn quoted(text: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if !text.is_empty() && text.chars().all(plain) && !text.starts_with(['-', '=']) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("'{}'", text.replace('\'', r"'\''")))
}

/// As python-dotenv reads it, and Docker Compose: single quotes, in which only `\` and `'` are special.
pub(super) fn dotenv(node: &NodeEnvironment) -> Result<String, EnvFormatError> {
    for setting in &node.settings {
        if setting.value.contains("${") {
            return Err(EnvFormatError::Value {
                format: EnvFormat::Dotenv.name(),
                name: setting.name.clone(),
                why: "python-dotenv replaces ${…} also between single quotes",
            });
        }
        let why = "its readers do not agree about carriage returns";
        refuse(EnvFormat::Dotenv, setting, |c| c == '\r', why)?;
    }
    Ok(with_reasons(node, |setting| {
        let value = setting.value.replace('\\', r"\\").replace('\'', r"\'");
        format!("{}='{value}'", setting.name)
    }))
}

/// For `EnvironmentFile=`.
pub(super) fn systemd(node: &NodeEnvironment) -> String {
    with_reasons(node, |setting| systemd_line(&setting.name, &setting.value))
}

/// The whole file of variables that are nobody's settings.
pub fn systemd_file<'a>(variables: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let lines = variables.into_iter();
    lines
        .map(|(name, value)| systemd_line(name, value) + "\n")
        .collect()
}

/// Between double quotes `"`, `\`, `` ` `` and `$` are escaped, and everything else stands for itself, newlines too
/// (systemd.exec(5), `parse_env_file`).
fn systemd_line(name: &str, value: &str) -> String {
    let mut line = format!("{name}=\"");
    for c in value.chars() {
        if matches!(c, '"' | '\\' | '`' | '$') {
            line.push('\\');
        }
        line.push(c);
    }
    line.push('"');
    line
}

/// NCCL's variables alone. Comments stand on lines of their own: NCCL would take them for a part of the value.
pub(super) fn nccl_conf(node: &NodeEnvironment) -> Result<String, EnvFormatError> {
    let mut text = headline(node);
    let own = |setting: &&EngineSetting| {
        setting.engine == EngineKind::Nccl
            || setting.engine == EngineKind::Custom && setting.name.starts_with("NCCL_")
    };
    for setting in node.settings.iter().filter(own) {
        let why = "a line ends the value";
        refuse(
            EnvFormat::NcclConf,
            setting,
            |c| matches!(c, '\n' | '\r'),
            why,
        )?;
        // Old releases know no comments and take any line with a `=` for a variable.
        let reason = comment(&setting.why).replace('=', ":");
        let (name, value) = (&setting.name, &setting.value);
        // Writing to a String cannot fail.
        let _ = write!(text, "# {reason}\n{name}={value}\n");
    }
    Ok(text)
}
