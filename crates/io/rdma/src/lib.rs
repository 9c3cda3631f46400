//! The RDMA engine: what one end does to measure bandwidth or latency to another.
//!
//! [`open`] makes queue pairs and says in an [`RdmaEndpoints`] how they are reached; [`OpenRdmaEngine::join`] tells them of the peer's, which came over
//! a connection that is not ours; [`JoinedRdmaEngine::go`] measures. Both ends must have joined before either goes. Dropping
//! an engine destroys what it made. There is no input or output here but the verbs themselves, so that it can run
//! in a process of its own, which a driver may crash or hang.

mod bandwidth;
mod clock;
mod empty_notice;
mod engine;
mod error;
mod failure;
mod figures;
mod latency;
mod message_ring;
mod receiver;
mod request;
mod size_plan;
mod verify;

pub use crosstie_figures::{
    Histogram, MeasuredBandwidth, MeasuredLatency, TestProgress, TestTimes,
};
pub use engine::{EngineResources, JoinedRdmaEngine, OpenRdmaEngine, RdmaEndpoints, open};
pub use error::{
    PrepareMessagesError, RdmaJoinError, RdmaOpenError, RdmaRequestError, RdmaRunError,
};
pub use figures::{RdmaFigures, VerifiedMessages};
pub use request::{
    BandwidthOperation, HostResourceShare, LatencyOperation, RdmaOpenRequest, RdmaPathRequest,
    RdmaRole, RdmaTest,
};
pub use size_plan::MemoryCap;
