//! Multicast DNS, as one who only asks (RFC 6762, section 5.1): from a port of our own, so that answers come to us alone and
//! a daemon that holds port 5353 is not disturbed.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6, UdpSocket},
    os::fd::{AsFd, BorrowedFd},
    time::{Duration, Instant},
};

use crosstie_discover::{
    CandidateAddress, DiscoveryAnswer, DiscoveryMethod, DiscoveryPort, MdnsHosts, SERVICES,
    dns::{DnsName, DnsRecordKind, MAX_MESSAGE, answers, question},
};
use rustix::net::sockopt::{
    set_ip_multicast_if, set_ip_multicast_ttl, set_ipv6_multicast_hops, set_ipv6_multicast_if,
};

use super::wait::readable;

const PORT: u16 = 5353;
const GROUP_V4: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 251);
const GROUP_V6: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0xfb);

/// IPv4 addresses of one interface that are asked from.
const MAX_ADDRESSES: usize = 4;

/// What is still open is asked again so often, and everything this much rarer: a datagram may get lost.
const QUERY_INTERVAL: Duration = Duration::from_millis(300);
const ROUNDS_FOR_ALL: u32 = 3;

/// Messages that are read at most: others may talk without end.
const MAX_MESSAGES: usize = 4096;

struct Asking {
    socket: UdpSocket,
    group: SocketAddr,
}

impl AsFd for Asking {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Everybody on this link who says that one can log in there.
pub(super) fn query_link(port: &DiscoveryPort, until: Instant) -> io::Result<Vec<DiscoveryAnswer>> {
    let sockets = open(port)?;
    let mut hosts = MdnsHosts::default();
    let mut messages = 0;
    let mut round = 0;
    let mut next = Instant::now();
    let mut buffer = vec![0; MAX_MESSAGE + 1];
    while Instant::now() < until && messages < MAX_MESSAGES {
        if Instant::now() >= next {
            send_queries(&sockets, &hosts, round)?;
            round += 1;
            next = Instant::now() + QUERY_INTERVAL;
        }
        readable(&sockets, next.min(until))?;
        for asking in &sockets {
            while let Ok((length, source)) = asking.socket.recv_from(&mut buffer) {
                messages += 1;
                if messages >= MAX_MESSAGES {
                    break;
                }
                if port.is_on_link(source.ip())
                    && let Ok(records) = answers(&buffer[..length])
                {
                    hosts.hear(&records, source.ip());
                }
            }
        }
    }
    Ok(hosts.found().map(|found| sighting(port, found)).collect())
}

fn sighting(
    port: &DiscoveryPort,
    (name, addresses): (Option<crosstie_discover::MdnsHostName>, Vec<IpAddr>),
) -> DiscoveryAnswer {
    let on_link = addresses
        .into_iter()
        .filter(|address| port.is_on_link(*address));
    DiscoveryAnswer {
        via: DiscoveryMethod::Mdns,
        interface: port.name.clone(),
        name,
        places: on_link
            .map(|address| CandidateAddress::new(address, &port.name, port.index))
            .collect(),
    }
}

/// Sends what is not known yet. That the last socket fails too is an error; one of several may.
fn send_queries(sockets: &[Asking], hosts: &MdnsHosts, round: u32) -> io::Result<()> {
    let mut questions = hosts.questions();
    if round.is_multiple_of(ROUNDS_FOR_ALL) {
        questions.extend(SERVICES.map(|service| (DnsName::of(service), DnsRecordKind::Pointer)));
    }
    if questions.is_empty() {
        return Ok(());
    }
    let message = question(&questions);
    let mut last = Ok(());
    let mut sent = false;
    for asking in sockets {
        match asking.socket.send_to(&message, asking.group) {
            Ok(_) => sent = true,
            Err(error) => last = Err(error),
        }
    }
    if sent { Ok(()) } else { last }
}

fn open(port: &DiscoveryPort) -> io::Result<Vec<Asking>> {
    let mut sockets = Vec::new();
    let mut last = io::Error::new(
        io::ErrorKind::AddrNotAvailable,
        "it has no address to ask from",
    );
    let ways = port.ipv4().take(MAX_ADDRESSES).map(IpAddr::V4);
    for way in ways.chain(port.link_local().map(IpAddr::V6)) {
        match open_one(port, way) {
            Ok(asking) => sockets.push(asking),
            Err(error) => last = error,
        }
    }
    if sockets.is_empty() {
        return Err(last);
    }
    Ok(sockets)
}

/// Bound to the interface's own address, so that what comes in came by it.
fn open_one(port: &DiscoveryPort, own: IpAddr) -> io::Result<Asking> {
    let (socket, group) = match own {
        IpAddr::V4(address) => {
            let socket = UdpSocket::bind((address, 0))?;
            set_ip_multicast_if(&socket, &address)?;
            set_ip_multicast_ttl(&socket, 255)?;
            (socket, SocketAddrV4::new(GROUP_V4, PORT).into())
        }
        IpAddr::V6(address) => {
            let socket = UdpSocket::bind(SocketAddrV6::new(address, 0, 0, port.index))?;
            set_ipv6_multicast_if(&socket, port.index)?;
            set_ipv6_multicast_hops(&socket, 255)?;
            (
                socket,
                SocketAddrV6::new(GROUP_V6, PORT, 0, port.index).into(),
            )
        }
    };
    socket.set_nonblocking(true)?;
    Ok(Asking { socket, group })
}
