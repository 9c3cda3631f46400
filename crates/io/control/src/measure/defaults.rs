//! What every test has unless somebody wants it otherwise.

use crosstie_rdma::RdmaPathRequest;

/// perftest's; a timeout of 14 is 67 ms.
pub(crate) const DEFAULT_PATH: RdmaPathRequest = RdmaPathRequest {
    timeout: 14,
    retry_count: 7,
    service_level: 0,
    traffic_class: 0,
};
/// 537 ms for Soft-RoCE: it has 128 packets under way on a queue pair, whose acknowledgements a slow link or a busy processor may
/// keep for longer than 67 ms, and sends all of them again then.
pub(crate) const SOFTWARE_PATH: RdmaPathRequest = RdmaPathRequest {
    timeout: 17,
    ..DEFAULT_PATH
};
/// Messages under way on a queue pair: perftest's.
pub(crate) const DEFAULT_DEPTH: u32 = 128;
/// Bytes of a message whose latency is measured.
pub(crate) const LATENCY_SIZE: u32 = 2;
/// Bytes of a TCP message whose latency is measured: about sockperf's.
pub(crate) const TCP_LATENCY_SIZE: u32 = 16;
/// Milliseconds without any word of the peer, after which it is taken to be gone.
pub(crate) const SILENCE_MILLISECONDS: u32 = 3000;
