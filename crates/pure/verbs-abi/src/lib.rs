//! libibverbs' binary interface, as one table.
//!
//! Each record, offset, constant and function is written down once. The table yields our types, whose layout the
//! compiler checks, and C source ([`c_source`]), which a test compiles against libibverbs' own headers for both
//! architectures. Nothing is copied from those headers; what stands here are sizes, offsets and numbers, which are the
//! same from rdma-core 39 to 64.

mod c_source;
mod constants;
mod functions;
mod offsets;
mod records;
mod table;

pub use c_source::c_source;
pub use constants::*;
pub use functions::{
    AbiFunction, PollCompletions, PostReceive, PostSend, RequestNotification, functions,
};
pub use offsets::*;
pub use records::*;
pub use table::{AbiConstant, AbiField, AbiFieldKind, AbiRecord, ZeroableType};
