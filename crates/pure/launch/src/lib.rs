//! Engines on several nodes: their settings with reasons, the formats that these are written in, command lines, and what is
//! judged before and while an engine runs. Starting anything is `io`'s.

pub mod format;
pub mod gguf;
pub mod job;
pub mod job_problems;
pub mod job_protocol;
pub mod preflight;
pub mod settings;

pub use settings::{EngineTrafficClass, SettingsNode, SettingsPort, settings};
