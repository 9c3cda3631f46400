//! Nodes as containers: the image's own systemd, sshd, sudo and network managers, on the host's kernel at its full speed.
//!
//! Each node has mount, pid, network, uts, ipc, cgroup and time namespaces of its own over the image's tree. All of them,
//! and every mount, live only as long as the node's processes do, and its control group holds all of these: what a killed
//! command leaves is found by the lab's directory alone. There are no verbs: a node's RDMA ports are files.

mod cables;
mod cgroup;
mod disk;
mod gateway;
mod rdma;
mod supervise;
mod watches;

pub use gateway::serve as serve_gateway;
pub use supervise::serve as serve_node;

/// The control group that holds everything of the containers of the lab at a directory.
pub fn control_groups(directory: &std::path::Path) -> std::io::Result<std::path::PathBuf> {
    Ok(LabCgroups::of(directory)?.root().to_owned())
}

pub(crate) use cables::{CableNamespace, NicCableEnd};
pub(crate) use cgroup::LabCgroups;
pub(crate) use disk::ContainerDisk;
pub(crate) use rdma::{make as make_ports, set_states};
pub(crate) use supervise::command as node_command;
pub(crate) use watches::allow as allow_watches;
