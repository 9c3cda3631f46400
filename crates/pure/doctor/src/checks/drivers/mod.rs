//! Drivers and user space.

mod clock_unsynchronised;
mod gpudirect_not_on_gb10;
mod gpudirect_off;
mod kho_steals_cma;
mod limits;
mod memlock_limited;
mod ofed_not_running;
mod peermem_load_failed;
mod peermem_not_persistent;
mod rdma_devices_denied;
mod rdma_devices_inaccessible;
mod rdma_driver_missing;
mod rdma_userspace_missing;
mod socket_buffers_small;

use super::CheckArea;
use crate::ExaminedNode;

pub const AREA: CheckArea = CheckArea {
    title: "Drivers and user space",
    checks: &[
        &rdma_driver_missing::CHECK,
        &rdma_userspace_missing::CHECK,
        &ofed_not_running::CHECK,
        &gpudirect_off::CHECK,
        &gpudirect_not_on_gb10::CHECK,
        &peermem_not_persistent::CHECK,
        &peermem_load_failed::CHECK,
        &rdma_devices_inaccessible::CHECK,
        &rdma_devices_denied::CHECK,
        &memlock_limited::CHECK,
        &kho_steals_cma::CHECK,
        &socket_buffers_small::CHECK,
        &clock_unsynchronised::CHECK,
    ],
};

/// The kind of container that was looked into, if it was one: modules, boot files and limits are then the host's.
fn container<'a>(node: &ExaminedNode<'a>) -> Option<&'a str> {
    node.facts.system.container.known().map(String::as_str)
}

/// Where a container shows.
const CONTAINER: &str = "/run/systemd/container, /.dockerenv, /run/.containerenv";

/// The driver of `MLNX_OFED` or DOCA-OFED is what runs or would be loaded: only with it `nvidia_peermem` can work.
fn has_vendor_driver(node: &ExaminedNode) -> bool {
    let software = &node.facts.software;
    let paths = software.module_paths.known();
    let path = paths.and_then(|paths| paths.get("mlx5_core"));
    let module = software.module("mlx5_core");
    path.is_some_and(|path| !path.starts_with("kernel/"))
        || module.is_some_and(|module| module.version.known().is_some())
}

/// The module is loaded or built in. `None` where the list of modules was not to be had.
fn has_module(node: &ExaminedNode, name: &str) -> Option<bool> {
    let modules = &node.facts.software.modules;
    (!modules.is_empty()).then(|| modules.contains_key(name))
}
