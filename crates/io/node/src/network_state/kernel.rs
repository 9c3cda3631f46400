//! The routing socket: dumps as raw messages, and changes, which are counted.

use super::raw_message::RawMessage;
use crate::netlink::{
    NetlinkError,
    message::{AF_INET, AF_INET6, NetlinkRequest},
    socket::NetlinkSocket,
};

pub(super) const NLM_F_REPLACE: u16 = 0x100;
pub(super) const NLM_F_EXCL: u16 = 0x200;
pub(super) const NLM_F_CREATE: u16 = 0x400;
pub(super) const NLM_F_APPEND: u16 = 0x800;

pub(super) struct KernelNetwork {
    socket: NetlinkSocket,
    pub(super) changes: usize,
}

/// A kind of object: how it is asked for, how it comes, and the length of its fixed header.
#[derive(Debug, Clone, Copy)]
pub(super) struct ObjectKind {
    pub(super) get: u16,
    pub(super) new: u16,
    pub(super) delete: u16,
    pub(super) header: usize,
}

impl KernelNetwork {
    pub(super) fn open() -> Result<Self, NetlinkError> {
        Ok(Self {
            socket: NetlinkSocket::open(None)?,
            changes: 0,
        })
    }

    pub(super) fn dump(
        &mut self,
        kind: ObjectKind,
        family: u8,
    ) -> Result<Vec<RawMessage>, NetlinkError> {
        let mut header = vec![0; kind.header];
        if let Some(first) = header.first_mut() {
            *first = family;
        }
        let answer = self.socket.dump(&NetlinkRequest::new(kind.get, &header))?;
        let bodies = answer.iter().filter(|(found, _)| *found == kind.new);
        Ok(bodies
            .filter_map(|(_, body)| RawMessage::parse(body, kind.header))
            .collect())
    }

    /// IPv4, then IPv6. A family that the kernel does not know is answered with all others, so each is looked at.
    pub(super) fn dump_both(&mut self, kind: ObjectKind) -> Result<Vec<RawMessage>, NetlinkError> {
        let mut found = Vec::new();
        for family in [AF_INET, AF_INET6] {
            let messages = self.dump(kind, family)?;
            found.extend(
                messages
                    .into_iter()
                    .filter(|one| one.header_u8(0) == family),
            );
        }
        Ok(found)
    }

    pub(super) fn change(
        &mut self,
        kind: u16,
        flags: u16,
        message: &RawMessage,
    ) -> Result<(), NetlinkError> {
        self.changes += 1;
        self.socket
            .change(&NetlinkRequest::new(kind, &message.body()), flags)
    }
}
