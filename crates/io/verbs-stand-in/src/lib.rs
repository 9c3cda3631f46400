//! Stands in for libibverbs in tests.
//!
//! It has the symbols that we look up, in the layouts of `crosstie-verbs-abi`. Queue pairs of one process reach each other:
//! data is copied when it is posted, and each rule that a device would hold us to is held: states, keys, bounds, access
//! rights, addresses, packet sequence numbers, queue depths, the order of destruction. What breaks a rule fails as it
//! would on a device.
//!
//! | device | |
//! |---|---|
//! | `standin_roce0`, `standin_roce1` | RoCE, `192.0.2.1` and `.2`, `2001:db8::1` and `::2` |
//! | `standin_ib0`, `standin_ib1` | InfiniBand, LID 7 and 8 |
//! | `standin_instant0` | RoCE; whatever is posted has completed at once, and no data moves: for benchmarks |
//!
//! Faults are injected by `stand_in_inject("NAME=VALUE")` or, before it is loaded, by the environment variable
//! `STAND_IN_FAULTS` with a comma between them: see [`faults`]. A copy of the file is a library of its own, with its
//! own queue pairs and faults.

mod async_event;
mod completion;
mod control;
mod device;
mod domain;
pub mod faults;
mod harness;
mod instant;
mod model;
mod object;
mod queue_pair;
mod state;
mod transfer;

pub use harness::VerbsStandIn;
