//! DNS messages (RFC 1035), as far as multicast DNS (RFC 6762) needs them.

mod message;
mod name;
#[cfg(test)]
mod tests;

use thiserror::Error;

pub use message::{DnsRecord, DnsRecordData, DnsRecordKind, MAX_RECORDS, answers, question};
pub use name::{DnsName, MAX_NAME};

/// Longest message, of multicast DNS (RFC 6762, section 17).
pub const MAX_MESSAGE: usize = 9000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum DnsError {
    #[error("a message of more than {MAX_MESSAGE} bytes")]
    TooLong,
    #[error("a message that ends too soon")]
    Short,
    #[error("a name of more than {MAX_NAME} bytes")]
    LongName,
    #[error("a name that points forward or at itself")]
    Pointer,
    #[error("a label of a kind that no name has")]
    Label,
}
