//! NCCL's log (`NCCL_DEBUG=INFO`) to what the network does: which transport and devices join which nodes, and what is
//! wrong, with the lines that show it.
//!
//! A log may be hundreds of megabytes, cut anywhere, of several runs, through any launcher, and hostile. It is read once, in
//! pieces of any size, in bounded memory: names, processes, links and remembered lines are counted, and what comes after
//! the bound is left out and said so.

mod checks;
pub mod fuzz;
mod line;
mod message;
mod pairs;
mod reader;
mod report;
mod run;
mod state;
mod tables;

pub use message::NcclDevice;
pub use reader::NcclLogReader;
pub use report::{NcclHost, NcclLogReport, NcclPair, NcclRoute, NcclRunReport, NcclTransport};
