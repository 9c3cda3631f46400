//! Which distribution a node has.

use std::{fs, path::Path};

use crosstie_model::{Distribution, Reading};

pub(super) fn installed(root: &Path) -> &'static Distribution {
    let release = fs::read_to_string(root.join("etc/os-release")).unwrap_or_default();
    Distribution::of(&crosstie_facts::distro(&Reading::Value(&release)))
}
