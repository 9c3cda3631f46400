//! Which places of a device's GID tables are in use, by one question to the kernel: sysfs has a file a place, a thousand of them for
//! Soft-RoCE.
//!
//! A program has to have a context of the device first, and to name its driver. Drivers of cards want to be told more for a context than
//! this module knows, and refuse; the kernel's own software devices do not. Layouts are those of the kernel's `rdma_user_ioctl_cmds.h`, which never change.

use std::{fs::File, io, path::Path};

use rustix::ioctl::{Opcode, Updater, ioctl};

/// `_IOWR(0x1b, 1, struct ib_uverbs_ioctl_hdr)`.
const VERBS_CALL: Opcode = rustix::ioctl::opcode::read_write::<Header>(0x1b, 1);
/// `UVERBS_OBJECT_DEVICE`, and methods of it.
const DEVICE: u16 = 0;
const GET_CONTEXT: u16 = 3;
const QUERY_GID_TABLE: u16 = 5;
// `UVERBS_ATTR_QUERY_GID_TABLE_*`
const ENTRY_SIZE: u16 = 0;
const FLAGS: u16 = 1;
const ENTRIES: u16 = 2;
const ENTRY_COUNT: u16 = 3;
const MANDATORY: u16 = 1;
/// `RDMA_DRIVER_RXE` and `RDMA_DRIVER_SIW`: a caller has to know whose device it asks.
const SOFTWARE_DRIVERS: [u32; 2] = [14, 18];
/// The length of an attribute has 16 bits.
const MOST_ENTRIES: usize = u16::MAX as usize / size_of::<Entry>();

/// A place of a port's GID table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GidTableIndex {
    pub port: u32,
    pub index: u32,
}

/// `struct ib_uverbs_ioctl_hdr`, without its attributes.
#[repr(C)]
#[derive(Clone, Copy)]
struct Header {
    length: u16,
    object: u16,
    method: u16,
    attributes: u16,
    reserved: u64,
    driver: u32,
    reserved_too: u32,
}

/// `struct ib_uverbs_attr`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Attribute {
    number: u16,
    length: u16,
    flags: u16,
    reserved: u16,
    /// A value of up to eight bytes, or a pointer.
    data: u64,
}

/// `struct ib_uverbs_gid_entry`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Entry {
    gid: [u64; 2],
    index: u32,
    port: u32,
    kind: u32,
    interface: u32,
}

#[repr(C)]
struct Call<const COUNT: usize> {
    header: Header,
    attributes: [Attribute; COUNT],
}

/// Of all ports of a device, by its file below `/dev/infiniband`. An error where the driver or the kernel does not do it this way, or
/// the file may not be opened.
pub fn gid_places(device: &Path) -> io::Result<Vec<GidTableIndex>> {
    let file = File::options().read(true).write(true).open(device)?;
    let context = |driver| call(&file, driver, GET_CONTEXT, []).map(|()| driver);
    let [first, second] = SOFTWARE_DRIVERS;
    let driver = context(first).or_else(|_| context(second))?;
    let unused = Entry {
        gid: [0; 2],
        index: 0,
        port: 0,
        kind: 0,
        interface: 0,
    };
    let mut entries = vec![unused; MOST_ENTRIES];
    let mut count = 0_u64;
    let value = |number, length, data| Attribute {
        number,
        length,
        flags: MANDATORY,
        reserved: 0,
        data,
    };
    let room = u16::try_from(size_of_val(&entries[..])).unwrap_or(0);
    let attributes = [
        value(ENTRY_SIZE, 8, size_of::<Entry>() as u64),
        value(FLAGS, 4, 0),
        value(
            ENTRIES,
            room,
            entries.as_mut_ptr().expose_provenance() as u64,
        ),
        value(ENTRY_COUNT, 8, (&raw mut count).expose_provenance() as u64),
    ];
    call(&file, driver, QUERY_GID_TABLE, attributes)?;
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    let used = entries.iter().take(count);
    Ok(used
        .map(|entry| GidTableIndex {
            port: entry.port,
            index: entry.index,
        })
        .collect())
}

fn call<const COUNT: usize>(
    file: &File,
    driver: u32,
    method: u16,
    attributes: [Attribute; COUNT],
) -> rustix::io::Result<()> {
    let count = u16::try_from(COUNT).unwrap_or(u16::MAX);
    let mut call = Call {
        header: Header {
            length: u16::try_from(size_of::<Call<COUNT>>()).unwrap_or(u16::MAX),
            object: DEVICE,
            method,
            attributes: count,
            reserved: 0,
            driver,
            reserved_too: 0,
        },
        attributes,
    };
    // SAFETY: the kernel reads a header and as many attributes as it says. It writes to the pointers in them, no further than
    // their lengths: the only caller that has some points to memory of its own, which lives until it has returned.
    unsafe { ioctl(file, Updater::<VERBS_CALL, _>::new(&mut call)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_are_the_kernels() {
        assert_eq!((size_of::<Header>(), size_of::<Attribute>()), (24, 16));
        assert_eq!(size_of::<Entry>(), 32);
        assert_eq!(size_of::<Call<4>>(), 24 + 4 * 16);
        // As gcc has it of <rdma/rdma_user_ioctl_cmds.h>.
        assert_eq!(VERBS_CALL, 0xc018_1b01);
    }

    #[test]
    fn what_is_no_device_is_an_error() {
        assert!(gid_places(Path::new("/dev/null")).is_err());
        assert!(gid_places(Path::new("/dev/no such file")).is_err());
    }
}
