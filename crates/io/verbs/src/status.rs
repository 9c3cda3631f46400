//! How a work request ended, in words.

use std::fmt;

use crosstie_verbs_abi as abi;

/// The status of a completion, as the device gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompletionStatus(pub u32);

impl CompletionStatus {
    pub const SUCCESS: Self = Self(abi::STATUS_SUCCESS);
    pub const FLUSHED: Self = Self(abi::STATUS_FLUSHED);
    pub const RETRY_EXCEEDED: Self = Self(abi::STATUS_RETRY_EXCEEDED);
    pub const RNR_RETRY_EXCEEDED: Self = Self(abi::STATUS_RNR_RETRY_EXCEEDED);
    pub const REMOTE_ACCESS: Self = Self(abi::STATUS_REMOTE_ACCESS);

    pub fn is_success(self) -> bool {
        self == Self::SUCCESS
    }

    fn description(self) -> &'static str {
        match self.0 {
            abi::STATUS_SUCCESS => "done",
            abi::STATUS_LOCAL_LENGTH => {
                "a message is longer than its receive buffer or the device's maximum"
            }
            abi::STATUS_LOCAL_OPERATION => "the queue pair could not do it (local operation error)",
            abi::STATUS_LOCAL_PROTECTION => "the local memory is not registered for it",
            abi::STATUS_FLUSHED => {
                "flushed, because an earlier request failed or the queue pair was closed"
            }
            abi::STATUS_MEMORY_WINDOW => "a memory window could not be bound",
            abi::STATUS_BAD_RESPONSE => "the peer's answer made no sense",
            abi::STATUS_LOCAL_ACCESS => "the peer wrote to local memory that it may not write to",
            abi::STATUS_REMOTE_INVALID => {
                "the peer refused it as invalid: its receive buffer may be too short"
            }
            abi::STATUS_REMOTE_ACCESS => {
                "the peer refused the access: wrong key, bounds or permission of its memory"
            }
            abi::STATUS_REMOTE_OPERATION => "the peer could not do it (remote operation error)",
            abi::STATUS_RETRY_EXCEEDED => {
                "the peer acknowledged nothing, and all retries are used up: it is gone, or packets are lost on the way \
                 (MTU, cable, firewall, GID)"
            }
            abi::STATUS_RNR_RETRY_EXCEEDED => {
                "the peer had posted no receive, and all retries are used up"
            }
            abi::STATUS_REMOTE_ABORTED => "the peer aborted it",
            abi::STATUS_FATAL => "the device is in a fatal state: see `dmesg`",
            abi::STATUS_RESPONSE_TIMEOUT => "the peer's answer did not come in time",
            abi::STATUS_GENERAL => "the device's transport engine failed: see `dmesg`",
            _ => "an error that this build has no words for",
        }
    }
}

impl fmt::Display for CompletionStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (status {})", self.description(), self.0)
    }
}
