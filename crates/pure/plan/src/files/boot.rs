//! What does not survive a boot, and the unit that sets it again.

use crosstie_model::{plan::BootUnitSettings, renderer::services};

use super::paths;

/// A plain table of values: it cannot fail to be written.
pub(crate) fn boot_file(boot: &BootUnitSettings) -> String {
    toml::to_string(boot).unwrap_or_default()
}

pub(crate) fn boot_unit() -> String {
    let (binary, file) = (paths::BINARY, paths::BOOT);
    let managers: Vec<String> = services().map(|name| format!("{name}.service")).collect();
    let managers = managers.join(" ");
    format!(
        "[Unit]\nDescription=Fabric settings that do not survive a boot\nAfter=network-pre.target systemd-modules-load.service \
         {managers}\nConditionPathExists={file}\n\n[Service]\nType=exec\nRemainAfterExit=yes\n\
         RuntimeMaxSec=120\nExecStart={binary} restore {file}\n\n\
         [Install]\nWantedBy=multi-user.target\n"
    )
}
