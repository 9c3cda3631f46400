//! Values to what people and programs read.

pub mod bench;
pub mod cabling;
pub mod causes;
pub mod change;
pub mod cluster_file;
pub mod compare;
pub mod completion;
pub mod discover;
pub mod doctor;
pub mod document;
pub mod env;
pub mod explain;
pub mod finding;
mod host_finding;
pub mod html;
pub mod init;
pub mod launch;
#[cfg(test)]
mod made_up;
pub mod nccl_log;
pub mod plan;
pub mod progress;
pub mod prove;
pub mod reachability;
pub mod rollback;
pub mod run_report;
pub mod scan;
pub mod schemas;
pub mod share;
pub mod status;
pub mod suggested_command;
pub mod text;
pub mod trial;
pub mod trust;
pub mod up;

pub use host_finding::HostFinding;
