//! Values to what people and programs read.

pub mod discover;
pub mod doctor;
pub mod finding;
pub mod scan;
pub mod text;
