//! Values to what people and programs read.

pub mod doctor;
pub mod finding;
pub mod plan;
pub mod scan;
pub mod text;
