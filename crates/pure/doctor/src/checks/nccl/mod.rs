//! NCCL settings, wherever NCCL or the shell that starts it would read them.

mod gid_pinned_wrong;
mod hca_down;
mod hca_missing_twin;
mod hca_unknown;
mod ib_disabled;
mod ifname_unknown;
mod version_mixed;

use crosstie_model::facts::nccl::NcclSetting;

use super::CheckArea;
use crate::{CheckHit, ExaminedNode};

pub const AREA: CheckArea = CheckArea {
    title: "NCCL settings",
    checks: &[
        &ib_disabled::CHECK,
        &hca_unknown::CHECK,
        &hca_missing_twin::CHECK,
        &hca_down::CHECK,
        &ifname_unknown::CHECK,
        &gid_pinned_wrong::CHECK,
        &version_mixed::CHECK,
    ],
};

const HCA: &str = "NCCL_IB_HCA";

const FILES: &[&str] = &[
    "environment",
    "NCCL_CONF_FILE, else ~/.nccl.conf",
    "/etc/nccl.conf",
    "/etc/environment, /etc/profile.d/*.sh",
    "/sys/class/infiniband, /sys/class/net",
];

/// The setting in force, where it says something.
fn setting<'a>(node: &ExaminedNode<'a>, name: &str) -> Option<&'a NcclSetting> {
    let setting = node.facts.nccl.effective(name)?;
    (!setting.value.is_empty()).then_some(setting)
}

fn saw(hit: CheckHit, setting: &NcclSetting) -> CheckHit {
    hit.saw(&setting.name, &setting.value, &*setting.source)
}

/// A value for `NCCL_IB_HCA` that takes every fabric port's device and no other.
fn right_hcas(node: &ExaminedNode) -> String {
    let mut names: Vec<&str> = node
        .fabric
        .iter()
        .filter(|port| port.port.is_active())
        .map(|port| port.device.name.as_str())
        .collect();
    names.dedup();
    crosstie_fabric::nccl::exactly(names).into_owned()
}

/// What to put in its place, if there is anything to put there.
fn with_right_hcas(hit: CheckHit, node: &ExaminedNode, setting: &NcclSetting) -> CheckHit {
    let value = right_hcas(node);
    if value.is_empty() {
        return hit;
    }
    hit.advice(format!(
        "Set {HCA}={value} in {}. The leading `=` makes the names exact.",
        place(setting)
    ))
}

fn place(setting: &NcclSetting) -> &str {
    match setting.source.as_str() {
        "environment" => "the environment of the job",
        source => source,
    }
}
