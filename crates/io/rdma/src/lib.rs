//! The RDMA engine: what one end does to measure bandwidth or latency to another.
//!
//! [`open`] makes queue pairs and says in an [`Offer`] how they are reached; [`OpenEngine::join`] tells them of the peer's, which came over
//! a connection that is not ours; [`JoinedEngine::go`] measures. Both ends must have joined before either goes. Dropping
//! an engine destroys what it made. There is no input or output here but the verbs themselves, so that it can run
//! in a process of its own, which a driver may crash or hang.

mod bandwidth;
mod clock;
mod engine;
mod error;
mod failure;
mod figures;
mod latency;
mod notice;
mod receiver;
mod request;
mod ring;
mod size_plan;
mod verify;

pub use crosstie_figures::{Bandwidth, Histogram, Latency, Progress, Times};
pub use engine::{JoinedEngine, Offer, OpenEngine, Surroundings, open};
pub use error::{GoError, JoinError, OpenError, PrepareError, RequestError};
pub use figures::{Figures, Verified};
pub use request::{Message, OpenRequest, PathRequest, Role, Share, Test, Transfer};
pub use size_plan::MemoryCap;
