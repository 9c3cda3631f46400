//! Limits, kernel settings, modules, and NCCL's own file.

use std::{collections::BTreeMap, fmt::Write};

use crosstie_model::plan::{EngineKind, EngineSetting};

use super::comment;

/// RDMA pins what it sends from. pam's `*` leaves root out.
pub(crate) fn limits() -> String {
    "* - memlock unlimited\nroot - memlock unlimited\n".to_owned()
}

/// Services and user sessions do not pass through pam's limits.
pub(crate) fn manager_limits() -> String {
    "[Manager]\nDefaultLimitMEMLOCK=infinity\n".to_owned()
}

pub(crate) fn modules(names: &[&str]) -> String {
    names.iter().flat_map(|name| [name, "\n"]).collect()
}

/// With slashes, so that a dot in an interface's name stays one.
pub(crate) fn sysctls(values: &BTreeMap<String, String>) -> String {
    let mut text = String::new();
    for (name, value) in values {
        let swap = |c| match c {
            '/' => '.',
            '.' => '/',
            other => other,
        };
        let path: String = name.chars().map(swap).collect();
        let _ = writeln!(text, "{path} = {value}");
    }
    text
}

/// The longest value that NCCL reads from its file.
pub(crate) const MAX_NCCL_VALUE_BYTES: usize = 1023;

/// Comments stand on lines of their own: NCCL would take them for a part of the value. Old releases know no comments at
/// all and take any line with a `=` for a variable.
pub(crate) fn nccl(settings: &[EngineSetting]) -> String {
    let own = settings
        .iter()
        .filter(|setting| setting.engine == EngineKind::Nccl);
    own.fold(String::new(), |mut text, setting| {
        let _ = write!(
            text,
            "# {}\n{}={}\n",
            comment(&setting.why).replace('=', ":"),
            setting.name,
            setting.value
        );
        text
    })
}
