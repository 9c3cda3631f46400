//! Sockets of one address and one interface.

use std::{
    ffi::OsString,
    io,
    net::{IpAddr, SocketAddr, SocketAddrV6, TcpListener, TcpStream},
    time::{Duration, Instant},
};

use nix::sys::socket::{setsockopt, sockopt::BindToDevice};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    fd::OwnedFd,
    io::Errno,
    net::{
        AddressFamily, SocketFlags, SocketType, bind, connect, ipproto, listen, netdevice,
        socket_with, sockopt,
    },
};

use crate::error::TcpOpenError;

/// Connections that the kernel holds for us; more wait for their turn.
const BACKLOG: i32 = 1024;

/// A socket that is bound to this address, on a port of the kernel's choice, and why it is not bound to the interface if it
/// is not.
pub(crate) fn bound(
    address: IpAddr,
    interface: Option<&str>,
) -> Result<(OwnedFd, Option<String>), TcpOpenError> {
    let failed = |action| {
        move |errno: Errno| TcpOpenError::Socket {
            action,
            address,
            source: errno.into(),
        }
    };
    let family = match address {
        IpAddr::V4(_) => AddressFamily::INET,
        IpAddr::V6(_) => AddressFamily::INET6,
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))
        .map_err(failed("make a socket for"))?;
    let unbound = interface.and_then(|name| {
        let name_text = OsString::from(name);
        let error = setsockopt(&socket, BindToDevice, &name_text).err()?;
        Some(format!("the kernel does not bind to {name}: {error}"))
    });
    let at = with_scope(SocketAddr::new(address, 0), interface, &socket)?;
    bind(&socket, &at).map_err(failed("bind to"))?;
    Ok((socket, unbound))
}

/// A link-local address means nothing without its interface.
pub(crate) fn with_scope(
    address: SocketAddr,
    interface: Option<&str>,
    socket: &OwnedFd,
) -> Result<SocketAddr, TcpOpenError> {
    match (address, interface) {
        (SocketAddr::V6(v6), Some(name)) if v6.ip().is_unicast_link_local() => {
            let scope = netdevice::name_to_index(socket, name);
            let scope = scope.map_err(|errno| TcpOpenError::Interface {
                name: name.to_owned(),
                source: errno.into(),
            })?;
            let scoped = SocketAddrV6::new(*v6.ip(), v6.port(), v6.flowinfo(), scope);
            Ok(SocketAddr::V6(scoped))
        }
        _ => Ok(address),
    }
}

pub(crate) fn listening(socket: OwnedFd, address: IpAddr) -> Result<TcpListener, TcpOpenError> {
    listen(&socket, BACKLOG).map_err(|errno| TcpOpenError::Socket {
        action: "listen on",
        address,
        source: errno.into(),
    })?;
    Ok(TcpListener::from(socket))
}

/// A connection of a socket that does not block; afterwards it does.
pub(crate) fn connected(
    socket: OwnedFd,
    peer: SocketAddr,
    within: Duration,
) -> io::Result<TcpStream> {
    match connect(&socket, &peer) {
        Ok(()) => {}
        Err(Errno::INPROGRESS) => {
            if !wait(&socket, PollFlags::OUT, within)? {
                return Err(io::ErrorKind::TimedOut.into());
            }
            sockopt::socket_error(&socket)??;
        }
        Err(errno) => return Err(errno.into()),
    }
    let stream = TcpStream::from(socket);
    stream.set_nonblocking(false)?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// Whether it became ready in time.
pub(crate) fn wait(socket: &OwnedFd, flags: PollFlags, within: Duration) -> io::Result<bool> {
    let until = Instant::now() + within;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let timeout = timespec(left);
        match poll(&mut [PollFd::new(socket, flags)], Some(&timeout)) {
            Ok(0) if left.is_zero() => return Ok(false),
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(true),
            Err(errno) => return Err(errno.into()),
        }
    }
}

pub(crate) fn timespec(time: Duration) -> Timespec {
    // Every wait here is seconds at most.
    Timespec::try_from(time).unwrap_or(Timespec {
        tv_sec: 1,
        tv_nsec: 0,
    })
}
