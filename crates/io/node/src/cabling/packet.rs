//! A socket for whole Ethernet frames on one interface (packet(7)).

use std::{num::NonZeroU32, os::fd::AsRawFd};

use crosstie_fabric::cabling::ETHERTYPE;
use nix::ifaddrs::getifaddrs;
use rustix::{
    fd::OwnedFd,
    io::Errno,
    net::{AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType},
};

pub(super) struct PacketSocket(OwnedFd);

impl PacketSocket {
    /// Hears frames of our `EtherType` alone.
    pub(super) fn open(interface: &str) -> Result<Self, String> {
        let protocol = NonZeroU32::new(u32::from(ETHERTYPE.to_be())).map(Protocol::from_raw);
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket =
            rustix::net::socket_with(AddressFamily::PACKET, SocketType::RAW, flags, protocol)
                .map_err(|errno| format!("no packet socket: {errno}"))?;
        // rustix has no link-layer addresses to bind to; the C library's list of interfaces has them ready made.
        let address = getifaddrs()
            .map_err(|errno| format!("the interfaces cannot be listed: {errno}"))?
            .filter(|entry| entry.interface_name == interface)
            .find_map(|entry| {
                entry
                    .address
                    .filter(|address| address.as_link_addr().is_some())
            })
            .ok_or("it has no link-layer address")?;
        nix::sys::socket::bind(socket.as_raw_fd(), &address)
            .map_err(|errno| format!("the packet socket cannot be bound: {errno}"))?;
        let socket = Self(socket);
        // Until it was bound it heard every interface.
        let mut buffer = [0; 1];
        while socket.receive(&mut buffer).is_ok() {}
        Ok(socket)
    }

    pub(super) fn descriptor(&self) -> &OwnedFd {
        &self.0
    }

    pub(super) fn send(&self, frame: &[u8]) -> Result<(), Errno> {
        rustix::net::send(&self.0, frame, SendFlags::empty()).map(|_| ())
    }

    pub(super) fn receive<'a>(&self, buffer: &'a mut [u8]) -> Result<&'a [u8], Errno> {
        let (length, _) = rustix::net::recv(&self.0, &mut *buffer, RecvFlags::empty())?;
        Ok(&buffer[..length])
    }
}
