//! Values to what people and programs read.

pub mod cabling;
pub mod cluster_file;
pub mod doctor;
pub mod finding;
pub mod init;
pub mod scan;
pub mod text;
