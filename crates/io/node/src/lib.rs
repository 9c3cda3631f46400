//! What runs on a node: reading this machine, and captures.

pub mod agent_cache;
mod boot;
pub mod cabling;
pub mod capture;
mod causes;
pub mod child_processes;
mod collect;
pub mod command;
pub mod commands;
mod counters;
pub mod frame;
pub mod fuzz;
mod gid_tables;
pub mod host;
pub mod local_file_tree;
pub mod lock;
pub mod names;
pub mod netlink;
#[doc(hidden)] // its callers are inside; tests in network namespaces use it too
pub mod network_state;
pub mod probe;
pub mod scratch_folder;
mod stop_flag;
pub mod trust;
pub mod worker;

pub use boot::boot_id;
pub use causes::with_causes;
pub use collect::{collect, cut_to_allow_list, now};
pub use counters::counters;
pub use local_file_tree::LocalFileTree;
pub use stop_flag::StopFlag;
