//! Values to what people and programs read.

pub mod scan;
pub mod text;
