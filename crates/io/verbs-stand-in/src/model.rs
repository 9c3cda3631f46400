//! The devices that there are.

use std::{ffi::CStr, net::IpAddr};

use crosstie_verbs_abi as abi;

pub(crate) struct StandInDevice {
    pub(crate) name: &'static CStr,
    pub(crate) lid: u16,
    /// The last number of its addresses.
    host: u8,
    /// Whether work completes at once, and no data moves.
    pub(crate) instant: bool,
}

pub(crate) const MODELS: &[StandInDevice] = &[
    StandInDevice {
        name: c"standin_roce0",
        lid: 0,
        host: 1,
        instant: false,
    },
    StandInDevice {
        name: c"standin_roce1",
        lid: 0,
        host: 2,
        instant: false,
    },
    StandInDevice {
        name: c"standin_ib0",
        lid: 7,
        host: 3,
        instant: false,
    },
    StandInDevice {
        name: c"standin_ib1",
        lid: 8,
        host: 4,
        instant: false,
    },
    StandInDevice {
        name: c"standin_instant0",
        lid: 0,
        host: 5,
        instant: true,
    },
];

pub(crate) const GID_TABLE_LENGTH: u32 = 16;

impl StandInDevice {
    pub(crate) fn is_infiniband(&self) -> bool {
        self.lid != 0
    }

    /// The bytes and the type of an entry of the GID table; `None` for one that is not in use.
    pub(crate) fn gid(&self, index: u32) -> Option<([u8; 16], u32)> {
        let host = self.host;
        let link_local = IpAddr::from([0xfe80, 0, 0, 0, 0, 0, 0, host.into()]);
        let version_4 = IpAddr::from([192, 0, 2, host]);
        let version_6 = IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, host.into()]);
        let (address, kind) = match (self.is_infiniband(), index) {
            (true, 0) => (link_local, abi::GID_INFINIBAND),
            (false, 0) => (link_local, abi::GID_ROCE_V1),
            (false, 1) => (link_local, abi::GID_ROCE_V2),
            (false, 2) => (version_4, abi::GID_ROCE_V1),
            (false, 3) => (version_4, abi::GID_ROCE_V2),
            // 4 was an address that is gone.
            (false, 5) => (version_6, abi::GID_ROCE_V1),
            (false, 6) => (version_6, abi::GID_ROCE_V2),
            (false, 7) => (IpAddr::from([198, 51, 100, host]), abi::GID_ROCE_V1),
            _ => return None,
        };
        let bytes = match address {
            IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
            IpAddr::V6(address) => address.octets(),
        };
        Some((bytes, kind))
    }
}
