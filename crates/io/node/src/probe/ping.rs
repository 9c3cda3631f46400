//! An echo request of our own, so that no program has to be there.

use std::{
    ffi::OsString,
    net::{IpAddr, SocketAddr, SocketAddrV4, SocketAddrV6},
    os::fd::OwnedFd,
    thread,
    time::{Duration, Instant},
};

use nix::sys::socket::{setsockopt, sockopt::BindToDevice};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    net::{
        AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, ipproto,
        netdevice::name_to_index,
        sockopt::{
            Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery, ip_mtu, ipv6_mtu, set_ip_mtu_discover,
            set_ipv6_mtu_discover,
        },
    },
    rand::{GetRandomFlags, getrandom},
};

use super::{
    echo::{EchoRequest, EchoToken, behind_header},
    problem::{NeighbourTableState, ProbeProblem},
};

/// The first request may get lost, or come while the link still settles.
const ATTEMPTS: u32 = 3;
/// Of an answer, with the longest header.
const IPV4_OVERHEAD: usize = 60;

pub(super) struct PingProbe<'a> {
    pub(super) address: IpAddr,
    pub(super) interface: Option<&'a str>,
    pub(super) bytes: Option<u32>,
}

impl PingProbe<'_> {
    pub(super) fn run(&self, deadline: Duration) -> Result<(), ProbeProblem> {
        let start = Instant::now();
        let mut attempt = 1;
        loop {
            let until = start + deadline * attempt / ATTEMPTS;
            match self.once(until) {
                Err(problem) if !problem.is_final() && attempt < ATTEMPTS => {
                    thread::sleep(until.saturating_duration_since(Instant::now()));
                    attempt += 1;
                }
                outcome => return outcome,
            }
        }
    }

    fn once(&self, until: Instant) -> Result<(), ProbeProblem> {
        let echo = self.echo()?;
        let (socket, kind) = self.open()?;
        let request = echo.request();
        rustix::net::send(&socket, &request, SendFlags::empty())
            .map_err(|errno| self.failed("the request cannot be sent", errno, &socket))?;
        // One more than the answer needs: a longer one is none.
        let mut buffer = vec![0; request.len() + IPV4_OVERHEAD + 1];
        // Whatever else comes in, and however fast.
        while Instant::now() < until {
            let received = rustix::net::recvfrom(&socket, &mut buffer[..], RecvFlags::empty());
            let (length, source) = match received {
                Ok((length, _, source)) => (length, source),
                Err(Errno::AGAIN | Errno::INTR) => {
                    wait(&socket, until)?;
                    continue;
                }
                // Of another question to the same address: the kernel tells every raw socket that is connected to it.
                Err(Errno::MSGSIZE) if self.fits(&socket) => continue,
                Err(errno) => return Err(self.failed("no answer", errno, &socket)),
            };
            let source = source.and_then(|source| SocketAddr::try_from(source).ok());
            let message = &buffer[..length];
            let message = if self.address.is_ipv4() && kind == SocketType::RAW {
                behind_header(message)
            } else {
                message
            };
            let from_there = source.is_some_and(|source| source.ip() == self.address);
            if from_there && echo.is_answered_by(message, kind == SocketType::RAW) {
                return Ok(());
            }
        }
        Err(ProbeProblem::Silent {
            sought: NeighbourTableState::Elsewhere,
        })
    }

    fn echo(&self) -> Result<EchoRequest, ProbeProblem> {
        let mut identifier = [0; 2];
        let mut token = EchoToken::default();
        for bytes in [&mut identifier[..], &mut token[..]] {
            // So few bytes are never given in part.
            getrandom(bytes, GetRandomFlags::empty())
                .map_err(|errno| system("no random numbers", errno))?;
        }
        let bytes = self.bytes.unwrap_or_default();
        EchoRequest::new(self.address, self.bytes, identifier, token).ok_or(ProbeProblem::Size {
            bytes,
            address: self.address,
        })
    }

    /// A raw socket, which is root's, else a ping socket of the kernel's; connected, so that strangers' packets do not
    /// fill its queue.
    fn open(&self) -> Result<(OwnedFd, SocketType), ProbeProblem> {
        let (family, protocol) = match self.address {
            IpAddr::V4(_) => (AddressFamily::INET, ipproto::ICMP),
            IpAddr::V6(_) => (AddressFamily::INET6, ipproto::ICMPV6),
        };
        let open = |kind| {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let socket = rustix::net::socket_with(family, kind, flags, Some(protocol));
            socket.map(|socket| (socket, kind))
        };
        let opened = match open(SocketType::RAW) {
            Err(Errno::PERM | Errno::ACCESS) => open(SocketType::DGRAM),
            opened => opened,
        };
        let (socket, kind) = opened.map_err(|errno| match errno {
            Errno::PERM | Errno::ACCESS => ProbeProblem::Denied,
            errno => system("no socket", errno),
        })?;
        let index = self.bind(&socket)?;
        if self.bytes.is_some() {
            match self.address {
                IpAddr::V4(_) => set_ip_mtu_discover(&socket, Ipv4PathMtuDiscovery::DO),
                IpAddr::V6(_) => set_ipv6_mtu_discover(&socket, Ipv6PathMtuDiscovery::DO),
            }
            .map_err(|errno| system("fragments cannot be forbidden", errno))?;
        }
        match self.address {
            IpAddr::V4(address) => rustix::net::connect(&socket, &SocketAddrV4::new(address, 0)),
            IpAddr::V6(address) => {
                rustix::net::connect(&socket, &SocketAddrV6::new(address, 0, 0, index))
            }
        }
        .map_err(|errno| system("there is no way to it", errno))?;
        Ok((socket, kind))
    }

    /// To the interface, whose index is given back; 0 is any.
    fn bind(&self, socket: &OwnedFd) -> Result<u32, ProbeProblem> {
        let Some(name) = self.interface else {
            return Ok(0);
        };
        // Also because the kernel cuts a name that is too long, and would take another interface.
        let index = name_to_index(socket, name).map_err(|_| ProbeProblem::NoInterface {
            name: name.to_owned(),
        })?;
        setsockopt(socket, BindToDevice, &OsString::from(name)).map_err(|errno| {
            let errno = crate::netlink::socket::errno_of(errno as i32);
            system("the socket cannot be bound to the interface", errno)
        })?;
        Ok(index)
    }

    /// As far as it is known by now.
    fn path_mtu(&self, socket: &OwnedFd) -> Option<u32> {
        match self.address {
            IpAddr::V4(_) => ip_mtu(socket).ok(),
            IpAddr::V6(_) => ipv6_mtu(socket).ok(),
        }
    }

    fn fits(&self, socket: &OwnedFd) -> bool {
        let mtu = self.path_mtu(socket);
        self.bytes.zip(mtu).is_some_and(|(bytes, mtu)| bytes <= mtu)
    }

    fn failed(&self, what: &'static str, errno: Errno, socket: &OwnedFd) -> ProbeProblem {
        match (errno, self.bytes, self.path_mtu(socket)) {
            (Errno::MSGSIZE, Some(bytes), Some(mtu)) => {
                let is_own = |name: &&str| crate::netlink::mtu(name) == Some(mtu);
                ProbeProblem::DoesNotFit {
                    bytes,
                    interface: self.interface.filter(is_own).map(str::to_owned),
                    mtu,
                }
            }
            _ => system(what, errno),
        }
    }
}

fn system(what: &'static str, errno: Errno) -> ProbeProblem {
    ProbeProblem::System { what, errno }
}

/// Until there is something to read, or the time is over.
fn wait(socket: &OwnedFd, until: Instant) -> Result<(), ProbeProblem> {
    let left = until.saturating_duration_since(Instant::now());
    let timeout = Timespec::try_from(left).ok();
    let mut waited = [PollFd::new(socket, PollFlags::IN)];
    match poll(&mut waited, timeout.as_ref()) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(errno) => Err(system("the answer cannot be awaited", errno)),
    }
}
