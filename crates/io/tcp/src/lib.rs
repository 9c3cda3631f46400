//! The TCP engine: what one end does to measure bandwidth or latency to another.
//!
//! [`open`] binds a socket to the fabric's address and interface; [`OpenTcpEngine::join`] makes the streams; [`JoinedTcpEngine::go`]
//! measures. One end listens, on a port that is open until the last stream is there, and takes streams only from whoever
//! proves that it knows the run's secret, which travels over a connection that is not ours. Every wait has a
//! deadline.

mod accept;
mod bandwidth;
mod buffer;
mod clock;
mod connect;
mod engine;
mod error;
mod figures;
mod handshake;
mod latency;
mod receive;
mod request;
mod send;
mod socket;

pub use crosstie_figures::{
    Histogram, MeasuredBandwidth, MeasuredLatency, TestProgress, TestTimes,
};
pub use engine::{JoinedTcpEngine, OpenTcpEngine, open};
pub use error::{TcpJoinError, TcpOpenError, TcpRequestError, TcpRunError};
pub use figures::{SendCost, TcpFigures};
pub use handshake::StreamSecret;
pub use request::{
    TcpDirection, TcpEndpoint, TcpListenerAddress, TcpOpenRequest, TcpRole, TcpTest,
};
