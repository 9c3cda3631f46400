//! Values to what people and programs read.

pub mod discover;
pub mod scan;
pub mod text;
