//! How much of a machine is looked at. Whoever made a capture of more meant it to take long: facts are compared with each other, and
//! no machine has as many.

use std::fmt;

use memchr::memmem;

use crate::RawCapture;

const MOST_INTERFACES: usize = 16_384;
const MOST_ADDRESSES: usize = 16_384;
const MOST_FUNCTIONS: usize = 65_536;
/// A card has two, a switch less than a hundred.
const MOST_PORTS_OF_DEVICE: usize = 256;
/// Beyond a thousand virtual functions.
const MOST_PORTS: usize = 4_096;

/// More than is looked at.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct MachineTooLarge {
    what: String,
    found: usize,
    most: usize,
}

impl fmt::Display for MachineTooLarge {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, found, most } = self;
        write!(
            formatter,
            "it has {found} {what}, and no more than {most} are looked at"
        )
    }
}

/// Before anything is made of it.
pub fn check_size(raw: &RawCapture) -> Result<(), MachineTooLarge> {
    let within = |what: &str, found: usize, most: usize| {
        if found <= most {
            return Ok(found);
        }
        let what = what.to_owned();
        Err(MachineTooLarge { what, found, most })
    };
    let count = |directory: &str| raw.names(directory).len();
    let shown = raw.command("ip-addr.json").into_known().unwrap_or("");
    let times = |key: &str| memmem::find_iter(shown.as_bytes(), key).count();
    within("addresses", times("\"local\""), MOST_ADDRESSES)?;
    within(
        "interfaces",
        times("\"ifname\"").max(count("sys/class/net")),
        MOST_INTERFACES,
    )?;
    within(
        "PCI functions",
        count("sys/bus/pci/devices"),
        MOST_FUNCTIONS,
    )?;
    let devices = raw.names("sys/class/infiniband");
    within("RDMA devices", devices.len(), MOST_PORTS)?;
    let mut ports = 0;
    for device in devices {
        let own = count(&format!("sys/class/infiniband/{device}/ports"));
        ports += within("ports on one RDMA device", own, MOST_PORTS_OF_DEVICE)?;
    }
    within("RDMA ports", ports, MOST_PORTS).map(drop)
}
