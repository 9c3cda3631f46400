//! What can go wrong, step by step.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    time::Duration,
};

/// A request that no engine can satisfy.
#[derive(Debug, thiserror::Error)]
pub enum TcpRequestError {
    #[error("{what} is {value}: it must be 1 to {most}")]
    OutOfRange {
        what: &'static str,
        value: u32,
        most: u32,
    },
    #[error("latency is measured on one stream, not on {0}")]
    LatencyStreams(u16),
    #[error("{0} is not the address of an interface")]
    NoAddress(IpAddr),
}

#[derive(Debug, thiserror::Error)]
pub enum TcpOpenError {
    #[error("the test cannot be run as asked for")]
    Request(#[from] TcpRequestError),
    #[error("no random numbers")]
    Random(#[source] io::Error),
    #[error("there is no interface {name}")]
    Interface {
        name: String,
        #[source]
        source: io::Error,
    },
    #[error("cannot {action} {address}")]
    Socket {
        action: &'static str,
        address: IpAddr,
        #[source]
        source: io::Error,
    },
}

#[derive(Debug, thiserror::Error)]
pub enum TcpJoinError {
    #[error("both ends of the test were told to {}", if *listens { "listen" } else { "connect" })]
    SameRole { listens: bool },
    #[error(
        "only {got} of {wanted} streams came from {peer} within {} s: a firewall on this node may drop TCP there, or the peer is gone",
        within.as_secs()
    )]
    Missing {
        got: usize,
        wanted: u16,
        peer: IpAddr,
        within: Duration,
    },
    #[error("cannot accept streams")]
    Accept(#[source] io::Error),
    #[error("cannot prepare stream {index} from {address}")]
    Prepare {
        index: u16,
        address: IpAddr,
        #[source]
        source: Box<TcpOpenError>,
    },
    #[error(
        "cannot connect stream {index} to {peer}: a firewall there may drop or refuse TCP, or the peer is gone"
    )]
    Connect {
        index: u16,
        peer: SocketAddr,
        #[source]
        source: io::Error,
    },
    #[error("whoever answers at {peer} does not know this run's secret")]
    Stranger { peer: SocketAddr },
    #[error("it was stopped")]
    Stopped,
}

#[derive(Debug, thiserror::Error)]
pub enum TcpRunError {
    #[error(
        "nothing moved to or from {peer} for {silence:?}: it is gone, or packets are lost on the way"
    )]
    Silent { peer: IpAddr, silence: Duration },
    #[error("{peer} closed a stream in the middle of the test")]
    Closed { peer: IpAddr },
    #[error("the stream with {peer} failed")]
    Stream {
        peer: IpAddr,
        #[source]
        source: io::Error,
    },
    #[error("{peer} sent what this test does not have")]
    Unexpected { peer: IpAddr },
    #[error("no thread for a stream")]
    Thread(#[source] io::Error),
}
