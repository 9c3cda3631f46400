//! A greeting to everybody on a link (`ff02::1`), which every machine answers by default, whatever its addresses are.

use std::{
    collections::BTreeSet,
    fs::File,
    io::{self, Read},
    net::{Ipv6Addr, SocketAddrV6},
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

use crosstie_discover::{
    CandidateAddress, DiscoveryAnswer, DiscoveryMethod, DiscoveryPort, MAX_SIGHTINGS, echo_request,
    is_echo_reply,
};
use rustix::{
    io::Errno,
    net::{
        AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, ipproto, recvfrom,
        sendto, socket_with, sockopt::set_ipv6_multicast_if,
    },
};

use super::wait::readable;

const EVERYBODY: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);

/// The first greeting may get lost, or come before the other end has its address.
const PING_INTERVAL: Duration = Duration::from_millis(500);

/// Messages that are read at most: a socket of root's hears those of others, too.
const MAX_MESSAGES: usize = 16_384;

const DENIED: &str = "only root may ask, or a group that the sysctl net.ipv4.ping_group_range names: run it with sudo to ask there too";

/// Whoever answers on this link.
pub(super) fn ping_all_nodes(
    port: &DiscoveryPort,
    until: Instant,
) -> io::Result<Vec<DiscoveryAnswer>> {
    let own = port.link_local().ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::AddrNotAvailable,
            "it has no link-local IPv6 address",
        )
    })?;
    let socket = [open(port, own)?];
    let mut mark = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut mark)?;
    let request = echo_request(&mark);
    let everybody = SocketAddrV6::new(EVERYBODY, 0, 0, port.index);
    let mut heard = BTreeSet::new();
    let mut messages = 0;
    let mut next = Instant::now();
    let mut buffer = [0; 256];
    while Instant::now() < until && heard.len() < MAX_SIGHTINGS && messages < MAX_MESSAGES {
        if Instant::now() >= next {
            sendto(&socket[0], &request, SendFlags::empty(), &everybody)?;
            next = Instant::now() + PING_INTERVAL;
        }
        readable(&socket, next.min(until))?;
        let (length, source) = match recvfrom(&socket[0], &mut buffer[..], RecvFlags::empty()) {
            Ok((length, _, source)) => (length, source),
            Err(Errno::AGAIN | Errno::INTR) => continue,
            Err(errno) => return Err(errno.into()),
        };
        messages += 1;
        let source = source.and_then(|source| SocketAddrV6::try_from(source).ok());
        if let Some(source) = source
            && source.ip().is_unicast_link_local()
            && source.scope_id() == port.index
            && is_echo_reply(&buffer[..length.min(buffer.len())], &mark)
        {
            heard.insert(*source.ip());
        }
    }
    Ok(heard
        .into_iter()
        .map(|address| sighting(port, address))
        .collect())
}

fn sighting(port: &DiscoveryPort, address: Ipv6Addr) -> DiscoveryAnswer {
    DiscoveryAnswer {
        via: DiscoveryMethod::AllNodes,
        interface: port.name.clone(),
        name: None,
        places: vec![CandidateAddress::new(
            address.into(),
            &port.name,
            port.index,
        )],
    }
}

/// A ping socket where the group may have one, else a raw one, which is root's.
fn open(port: &DiscoveryPort, own: Ipv6Addr) -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let make = |kind| socket_with(AddressFamily::INET6, kind, flags, Some(ipproto::ICMPV6));
    let socket = match make(SocketType::DGRAM).or_else(|_| make(SocketType::RAW)) {
        Err(Errno::PERM | Errno::ACCESS) => {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, DENIED));
        }
        socket => socket?,
    };
    bind(&socket, &SocketAddrV6::new(own, 0, 0, port.index))?;
    set_ipv6_multicast_if(&socket, port.index)?;
    Ok(socket)
}
