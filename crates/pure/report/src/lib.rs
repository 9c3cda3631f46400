//! Values to what people and programs read.

pub mod bench;
pub mod cabling;
pub mod causes;
pub mod change;
pub mod cluster_file;
pub mod discover;
pub mod doctor;
pub mod explain;
pub mod finding;
pub mod init;
pub mod nccl_log;
pub mod offer;
pub mod plan;
pub mod progress;
pub mod proof;
pub mod prove;
pub mod rollback;
pub mod scan;
pub mod status;
pub mod text;
pub mod trial;
pub mod trust;
pub mod up;
