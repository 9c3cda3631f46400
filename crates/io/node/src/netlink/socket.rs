//! A netlink socket: requests out, whole answers in, never longer than a deadline.

use std::{
    ops::Range,
    time::{Duration, Instant},
};

use crosstie_facts::{ReadGap, source::MAX_FILE};
use rustix::{
    fd::OwnedFd,
    io::Errno,
    net::{
        AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType,
        netlink::SocketAddrNetlink,
        sockopt::{Timeout, set_socket_timeout},
    },
};

use super::message::{NetlinkMessage, NetlinkMessages, NetlinkRequest, u32_at};

/// The kernel answers in well under a millisecond; a driver that holds the lock may take longer.
const REPLY_TIMEOUT: Duration = Duration::from_secs(2);
const ATTEMPTS: usize = 5;
/// The kernel sizes the parts of a dump by the reader's buffer, up to 32 KiB.
const BUFFER: usize = 64 << 10;
const LARGEST_BUFFER: usize = 1 << 20;

const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
/// Below it are control messages (`NLMSG_MIN_TYPE`).
const FIRST_KIND: u16 = 16;
const NLM_F_REQUEST: u16 = 0x01;
const NLM_F_ACK: u16 = 0x04;
const NLM_F_DUMP_INTR: u16 = 0x10;
const NLM_F_DUMP: u16 = 0x300;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NetlinkError {
    #[error("the netlink socket failed: {0}")]
    Socket(Errno),
    /// The kernel's own answer.
    #[error("{0}")]
    Refused(Errno),
    #[error("gave no answer within {} s", .0.as_secs())]
    Silent(Duration),
    #[error("kept changing while it was read, {ATTEMPTS} times")]
    Restless,
    #[error("larger than this tool reads")]
    TooLarge,
}

impl From<NetlinkError> for ReadGap {
    fn from(error: NetlinkError) -> Self {
        match error {
            NetlinkError::Socket(errno) | NetlinkError::Refused(errno) => match errno {
                Errno::PROTONOSUPPORT
                | Errno::AFNOSUPPORT
                | Errno::OPNOTSUPP
                | Errno::NODEV
                | Errno::NOENT => Self::Absent,
                other => crate::local_file_tree::gap(other),
            },
            NetlinkError::TooLarge => Self::TooLarge,
            NetlinkError::Silent(_) | NetlinkError::Restless => Self::Failed(error.to_string()),
        }
    }
}

#[derive(Debug)]
pub struct NetlinkSocket {
    descriptor: OwnedFd,
    deadline: Duration,
    sequence: u32,
    buffer: Vec<u8>,
}

/// The messages of an answer, in the order they came.
#[derive(Debug, Default)]
pub struct NetlinkReply {
    bytes: Vec<u8>,
    messages: Vec<(u16, Range<usize>)>,
}

impl NetlinkReply {
    pub fn of(kind: u16, body: &[u8]) -> Self {
        Self {
            bytes: body.to_vec(),
            messages: vec![(kind, 0..body.len())],
        }
    }

    /// Type and body of each message.
    pub fn iter(&self) -> impl Iterator<Item = (u16, &[u8])> {
        self.messages
            .iter()
            .filter_map(|(kind, range)| Some((*kind, self.bytes.get(range.clone())?)))
    }

    fn push(&mut self, message: NetlinkMessage<'_>) -> Result<(), NetlinkError> {
        let start = self.bytes.len();
        if (start + message.body.len()) as u64 > MAX_FILE {
            return Err(NetlinkError::TooLarge);
        }
        self.bytes.extend_from_slice(message.body);
        self.messages.push((message.kind, start..self.bytes.len()));
        Ok(())
    }
}

/// Who answers requests: the kernel, or a test.
pub trait NetlinkTransport {
    fn ask(&mut self, request: &NetlinkRequest) -> Result<NetlinkReply, NetlinkError>;
}

impl NetlinkTransport for NetlinkSocket {
    fn ask(&mut self, request: &NetlinkRequest) -> Result<NetlinkReply, NetlinkError> {
        NetlinkSocket::ask(self, request)
    }
}

impl<A: NetlinkTransport + ?Sized> NetlinkTransport for &mut A {
    fn ask(&mut self, request: &NetlinkRequest) -> Result<NetlinkReply, NetlinkError> {
        A::ask(self, request)
    }
}

/// How far an answer has come.
enum Progress {
    More,
    Done,
    /// What was dumped changed meanwhile, or part of it was lost: ask again.
    Again,
}

impl NetlinkSocket {
    /// `None` is `NETLINK_ROUTE`.
    pub fn open(protocol: Option<Protocol>) -> Result<Self, NetlinkError> {
        Self::open_within(protocol, REPLY_TIMEOUT)
    }

    /// With another deadline for each answer.
    pub fn open_within(
        protocol: Option<Protocol>,
        deadline: Duration,
    ) -> Result<Self, NetlinkError> {
        let family = AddressFamily::NETLINK;
        let socket =
            rustix::net::socket_with(family, SocketType::RAW, SocketFlags::CLOEXEC, protocol)
                .map_err(NetlinkError::Socket)?;
        set_socket_timeout(&socket, Timeout::Recv, Some(deadline)).map_err(NetlinkError::Socket)?;
        rustix::net::bind(&socket, &SocketAddrNetlink::new(0, 0)).map_err(NetlinkError::Socket)?;
        Ok(Self {
            descriptor: socket,
            deadline,
            sequence: 0,
            buffer: vec![0; BUFFER],
        })
    }

    /// Everything of a kind.
    pub fn dump(&mut self, request: &NetlinkRequest) -> Result<NetlinkReply, NetlinkError> {
        self.exchange(request, NLM_F_REQUEST | NLM_F_DUMP)
    }

    /// The answer to one question.
    pub fn ask(&mut self, request: &NetlinkRequest) -> Result<NetlinkReply, NetlinkError> {
        self.exchange(request, NLM_F_REQUEST | NLM_F_ACK)
    }

    /// A change, with `NLM_F_CREATE` and its like.
    pub fn change(&mut self, request: &NetlinkRequest, flags: u16) -> Result<(), NetlinkError> {
        self.exchange(request, NLM_F_REQUEST | NLM_F_ACK | flags)
            .map(drop)
    }

    fn exchange(
        &mut self,
        request: &NetlinkRequest,
        flags: u16,
    ) -> Result<NetlinkReply, NetlinkError> {
        let until = Instant::now() + self.deadline;
        for _ in 0..ATTEMPTS {
            // Parts of an answer that was given up carry the older number.
            self.sequence = self.sequence.wrapping_add(1);
            let bytes = request.encode(flags, self.sequence);
            rustix::net::sendto(
                &self.descriptor,
                &bytes,
                SendFlags::empty(),
                &SocketAddrNetlink::new(0, 0),
            )
            .map_err(NetlinkError::Socket)?;
            let mut answer = NetlinkReply::default();
            loop {
                match self.receive(&mut answer)? {
                    Progress::Done => return Ok(answer),
                    Progress::Again => break,
                    Progress::More if Instant::now() > until => {
                        return Err(NetlinkError::Silent(self.deadline));
                    }
                    Progress::More => {}
                }
            }
        }
        Err(NetlinkError::Restless)
    }

    /// Takes one datagram.
    fn receive(&mut self, answer: &mut NetlinkReply) -> Result<Progress, NetlinkError> {
        // With `MSG_TRUNC` the length is that of the datagram, whatever of it was cut off.
        let received =
            rustix::net::recvfrom(&self.descriptor, &mut self.buffer[..], RecvFlags::TRUNC);
        let (_, length, sender) = match received {
            Ok(received) => received,
            Err(Errno::INTR) => return Ok(Progress::More),
            Err(Errno::AGAIN) => return Err(NetlinkError::Silent(self.deadline)),
            // The kernel dropped a part for want of room in the socket.
            Err(Errno::NOBUFS) => return Ok(Progress::Again),
            Err(errno) => return Err(NetlinkError::Socket(errno)),
        };
        let from_kernel = sender
            .and_then(|sender| SocketAddrNetlink::try_from(sender).ok())
            .is_some_and(|sender| sender.pid() == 0);
        if !from_kernel {
            return Ok(Progress::More);
        }
        let Some(datagram) = self.buffer.get(..length) else {
            if length > LARGEST_BUFFER {
                return Err(NetlinkError::TooLarge);
            }
            self.buffer.resize(length.next_power_of_two(), 0);
            return Ok(Progress::Again);
        };
        take(datagram, self.sequence, answer)
    }
}

/// Sorts the messages of a datagram into the answer.
fn take(
    datagram: &[u8],
    sequence: u32,
    answer: &mut NetlinkReply,
) -> Result<Progress, NetlinkError> {
    for message in NetlinkMessages(datagram).filter(|message| message.sequence == sequence) {
        if message.flags & NLM_F_DUMP_INTR != 0 {
            return Ok(Progress::Again);
        }
        match message.kind {
            // Both carry an errno, negative, first of all; for `NLMSG_ERROR` zero is the acknowledgement.
            NLMSG_ERROR | NLMSG_DONE => {
                return match u32_at(message.body, 0).map_or(0, u32::cast_signed) {
                    0.. => Ok(Progress::Done),
                    errno => Err(NetlinkError::Refused(errno_of(errno.saturating_neg()))),
                };
            }
            FIRST_KIND.. => answer.push(message)?,
            _ => {}
        }
    }
    Ok(Progress::More)
}

/// `Errno` takes 1 to 4095, the kernel's `MAX_ERRNO`, and panics at anything else.
pub fn errno_of(number: i32) -> Errno {
    match number {
        1..=4095 => Errno::from_raw_os_error(number),
        _ => Errno::IO,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message(kind: u16, flags: u16, sequence: u32, body: &[u8]) -> Vec<u8> {
        NetlinkRequest::new(kind, body).encode(flags, sequence)
    }

    #[test]
    fn parts_are_gathered_until_done() {
        let mut answer = NetlinkReply::default();
        let mut datagram = message(16, 2, 7, b"abcd");
        datagram.extend(message(17, 2, 6, b"late"));
        datagram.extend(message(1, 0, 7, b""));
        assert!(matches!(
            take(&datagram, 7, &mut answer),
            Ok(Progress::More)
        ));
        let done = message(NLMSG_DONE, 2, 7, &0_u32.to_ne_bytes());
        assert!(matches!(take(&done, 7, &mut answer), Ok(Progress::Done)));
        assert_eq!(answer.iter().collect::<Vec<_>>(), [(16, &b"abcd"[..])]);
    }

    #[test]
    fn refusals_and_interruptions_are_told_apart() {
        let mut answer = NetlinkReply::default();
        for kind in [NLMSG_ERROR, NLMSG_DONE] {
            let refused = message(kind, 0, 1, &(-95_i32).to_ne_bytes());
            let error = take(&refused, 1, &mut answer).err();
            assert_eq!(error, Some(NetlinkError::Refused(Errno::OPNOTSUPP)));
        }
        assert_eq!(
            ReadGap::from(NetlinkError::Refused(Errno::OPNOTSUPP)),
            ReadGap::Absent
        );
        assert_eq!(
            ReadGap::from(NetlinkError::Refused(Errno::PERM)),
            ReadGap::Denied
        );
        let absurd = message(NLMSG_ERROR, 0, 1, &i32::MIN.to_ne_bytes());
        let error = take(&absurd, 1, &mut answer).err();
        assert_eq!(error, Some(NetlinkError::Refused(Errno::IO)));
        let interrupted = message(16, NLM_F_DUMP_INTR, 1, b"abcd");
        assert!(matches!(
            take(&interrupted, 1, &mut answer),
            Ok(Progress::Again)
        ));
        let acknowledged = message(NLMSG_ERROR, 0, 1, &0_i32.to_ne_bytes());
        assert!(matches!(
            take(&acknowledged, 1, &mut answer),
            Ok(Progress::Done)
        ));
    }

    #[test]
    fn the_kernel_refuses_with_a_reason() {
        let mut socket = NetlinkSocket::open(None).unwrap();
        // There is no request of this number.
        let error = socket.ask(&NetlinkRequest::new(9999, &[0; 16])).err();
        assert!(matches!(error, Some(NetlinkError::Refused(_))), "{error:?}");
        let links = socket.dump(&NetlinkRequest::new(18, &[0; 16])).unwrap();
        assert!(links.iter().count() > 0);
    }

    proptest! {
        #[test]
        fn any_datagram_is_taken_without_panic(bytes in proptest::collection::vec(any::<u8>(), 0..256)) {
            let _ = take(&bytes, 0, &mut NetlinkReply::default());
        }
    }
}
