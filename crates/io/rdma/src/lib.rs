//! The RDMA engine: what one end does to measure bandwidth or latency to another.
//!
//! [`open`] makes queue pairs and says how they are reached; [`OpenEngine::join`] tells them of the peer's, which came over
//! a connection that is not ours; [`JoinedEngine::go`] measures. Both ends must have joined before either goes. Dropping
//! an engine destroys what it made. There is no input or output here but the verbs themselves, so that it can run
//! in a process of its own, which a driver may crash or hang.

mod bandwidth;
mod clock;
mod engine;
mod error;
mod figures;
mod histogram;
mod latency;
mod meter;
mod request;
mod ring;

pub use engine::{JoinedEngine, OpenEngine, open};
pub use error::{GoError, JoinError, OpenError, RequestError};
pub use figures::{Bandwidth, Figures, Latency, Progress};
pub use histogram::Histogram;
pub use request::{Direction, OpenRequest, PathRequest, Role, Test, Times};
