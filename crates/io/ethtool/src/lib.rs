//! A driver's own statistics (`ETHTOOL_GSTATS`). Netlink has only the standard ones, so this is an ioctl, and the only
//! `unsafe` of the interface statistics.
//!
//! The kernel writes as many values as the driver has at that moment, whatever room we say there is
//! (net/ethtool/ioctl.c). A driver may have more of them than it had when it was asked how many: a card that gets more
//! channels, say. So there is room for twice as many and [`SPARE`] more, and both tables are asked for in one go.

use std::io;

use rustix::{
    fd::OwnedFd,
    ioctl::{Opcode, Updater, ioctl},
    net::{AddressFamily, SocketFlags, SocketType, socket_with},
};

const SIOCETHTOOL: Opcode = 0x8946;
const GSTRINGS: u32 = 0x1b;
const GSTATS: u32 = 0x1d;
const GSSET_INFO: u32 = 0x37;
/// `ETH_SS_STATS`: the set of names that statistics have.
const STATS_SET: u32 = 1;
const NAME_LENGTH: usize = 32;
/// `IFNAMSIZ`, with the NUL at its end.
const INTERFACE_LENGTH: usize = 16;
/// Drivers have thousands; more is no driver.
const MOST_STATISTICS: usize = 1 << 16;
const SPARE_BUFFER_BYTES: usize = 4096;

/// Names and values, in the driver's order; empty for a driver that has none.
pub fn statistics(interface: &str) -> io::Result<Vec<(String, u64)>> {
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, flags, None)?;
    let name = interface_name(interface)?;
    let count = match count(&socket, name) {
        Ok(count) => count,
        // The driver has no such thing.
        Err(rustix::io::Errno::OPNOTSUPP) => 0,
        Err(errno) => return Err(errno.into()),
    };
    if count == 0 {
        return Ok(Vec::new());
    }
    if count > MOST_STATISTICS {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let room = 2 * count + SPARE_BUFFER_BYTES;
    // struct ethtool_gstrings: cmd, string_set, len, then the names.
    let mut names = vec![0_u32; 3 + room * NAME_LENGTH / 4];
    names[..3].copy_from_slice(&[GSTRINGS, STATS_SET, len(count)]);
    call(&socket, name, &mut names)?;
    // struct ethtool_stats: cmd, n_stats, then the values, of 64 bits each.
    let mut values = vec![0_u64; 1 + room];
    values[0] = pair(GSTATS, len(count));
    call(&socket, name, &mut values)?;
    let (count_named, count_valued) = (names[2], parts(values[0])[1]);
    if count_named != count_valued {
        return Err(io::Error::other(
            "the driver's statistics changed meanwhile",
        ));
    }
    let name_words = NAME_LENGTH / 4;
    let texts = names[3..].chunks_exact(name_words).map(text);
    Ok(texts
        .zip(values[1..].iter().copied())
        .take(usize::try_from(count_named).unwrap_or(0))
        .collect())
}

/// How many the driver has.
fn count(socket: &OwnedFd, name: [u8; INTERFACE_LENGTH]) -> Result<usize, rustix::io::Errno> {
    // struct ethtool_sset_info: cmd, reserved, sset_mask (u64), then a count for each bit.
    let mut information = [pair(GSSET_INFO, 0), 1 << STATS_SET, 0, 0];
    call(socket, name, &mut information)?;
    if information[1] != 1 << STATS_SET {
        return Ok(0);
    }
    Ok(usize::try_from(parts(information[2])[0]).unwrap_or(usize::MAX))
}

/// Two numbers that lie one behind the other in memory, as one.
fn pair(first: u32, second: u32) -> u64 {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&first.to_ne_bytes());
    bytes[4..].copy_from_slice(&second.to_ne_bytes());
    u64::from_ne_bytes(bytes)
}

fn parts(both: u64) -> [u32; 2] {
    let bytes = both.to_ne_bytes();
    let part = |at: usize| std::array::from_fn(|index| bytes[at + index]);
    [part(0), part(4)].map(u32::from_ne_bytes)
}

fn len(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn text(words: &[u32]) -> String {
    let bytes = words.iter().flat_map(|word| word.to_ne_bytes());
    let bytes: Vec<u8> = bytes.take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&bytes).trim().to_owned()
}

fn interface_name(interface: &str) -> io::Result<[u8; INTERFACE_LENGTH]> {
    let mut name = [0; INTERFACE_LENGTH];
    let bytes = interface.as_bytes();
    if bytes.len() >= INTERFACE_LENGTH || bytes.contains(&0) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    name[..bytes.len()].copy_from_slice(bytes);
    Ok(name)
}

/// `struct ifreq`: a name, and a union of 24 bytes whose first member is this pointer.
#[repr(C)]
struct InterfaceRequest<T> {
    name: [u8; INTERFACE_LENGTH],
    data: *mut T,
    rest: [u64; 2],
}

/// What the kernel reads and fills: at least as long as the command in it makes the kernel write.
fn call<T: Copy>(
    socket: &OwnedFd,
    name: [u8; INTERFACE_LENGTH],
    data: &mut [T],
) -> rustix::io::Result<()> {
    let mut request = InterfaceRequest {
        name,
        data: data.as_mut_ptr(),
        rest: [0; 2],
    };
    // SAFETY: SIOCETHTOOL takes a `struct ifreq`, whose layout `InterfaceRequest` has. Its pointer is to `data`, which is
    // borrowed for the call, is of plain integers, and is long enough: see each caller and the head of this file.
    unsafe { ioctl(socket, Updater::<SIOCETHTOOL, _>::new(&mut request)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_without_any_has_none_and_one_that_is_not_there_is_an_error() {
        assert_eq!(statistics("lo").unwrap(), []);
        let missing = statistics("nowhere0").unwrap_err();
        assert_eq!(missing.raw_os_error(), Some(19), "ENODEV");
        assert!(statistics("much-too-long-for-a-name").is_err());
        assert!(statistics("a\0b").is_err());
    }

    #[test]
    fn numbers_lie_in_memory_as_the_kernel_has_them() {
        assert_eq!(parts(pair(7, 9)), [7, 9]);
        assert_eq!(
            text(&[u32::from_ne_bytes(*b"rx_b"), u32::from_ne_bytes(*b"y\0xx")]),
            "rx_by"
        );
        assert_eq!(size_of::<InterfaceRequest<u64>>(), 40);
    }
}
