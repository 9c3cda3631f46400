//! How a port is addressed: on InfiniBand by its LID, on RoCE by the GID that stands for an IP address.

use std::net::IpAddr;

use crosstie_model::{Gid, facts::rdma::LinkLayer};
use crosstie_verbs_abi::{self as abi, ZeroableType};
use rustix::io::Errno;

use crate::{
    call::{check, failed},
    context::DeviceContext,
    error::{PortAddressError, VerbsCallError},
    port::VerbsPort,
};

/// An entry of a port's GID table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VerbsGidEntry {
    pub index: u32,
    pub gid: Gid,
    pub kind: GidType,
    /// The interface that it belongs to; 0 on InfiniBand.
    pub interface_index: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GidType {
    InfiniBand,
    RoceV1,
    RoceV2,
    Unknown(u32),
}

/// What a queue pair of this port sends from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PortAddress {
    InfiniBand { port: u8, lid: u16 },
    Roce { port: u8, gid: Gid, index: u8 },
}

impl PortAddress {
    pub fn port(&self) -> u8 {
        match *self {
            Self::InfiniBand { port, .. } | Self::Roce { port, .. } => port,
        }
    }
}

impl DeviceContext {
    /// The entries of a port's GID table that are in use.
    pub fn gids(&self, port: &VerbsPort) -> Result<Vec<VerbsGidEntry>, VerbsCallError> {
        let entries = (0..port.gid_table_length).map(|index| self.gid(port.number, index));
        entries.filter_map(Result::transpose).collect()
    }

    fn gid(&self, port: u8, index: u32) -> Result<Option<VerbsGidEntry>, VerbsCallError> {
        let mut entry = abi::GidEntry::ZEROED;
        let query = self.0.functions()._ibv_query_gid_ex;
        let size = size_of::<abi::GidEntry>();
        // SAFETY: an open context, and room for an entry of the size that is given.
        let code = unsafe {
            query(
                self.0.raw.as_ptr(),
                port.into(),
                index,
                &raw mut entry,
                0,
                size,
            )
        };
        match check(code) {
            Ok(()) => Ok(VerbsGidEntry::new(index, &entry)),
            Err(source) if is_unused(&source) => Ok(None),
            Err(source) => Err(failed(&self.0.name, "ibv_query_gid_ex")(source)),
        }
    }

    /// How this port is addressed. RoCE needs the IP address by which the peer reaches it.
    pub fn port_address(
        &self,
        port: &VerbsPort,
        address: Option<IpAddr>,
    ) -> Result<PortAddress, PortAddressError> {
        let device = || self.device_name().to_owned();
        let number = port.number;
        match (&port.link_layer, address) {
            (LinkLayer::InfiniBand, _) if port.lid == 0 => Err(PortAddressError::NoLid {
                device: device(),
                port: number,
            }),
            (LinkLayer::InfiniBand, _) => Ok(PortAddress::InfiniBand {
                port: number,
                lid: port.lid,
            }),
            (LinkLayer::Ethernet, None) => Err(PortAddressError::AddressNeeded {
                device: device(),
                port: number,
            }),
            (LinkLayer::Ethernet, Some(address)) => {
                let entries = self.gids(port)?;
                choose(&entries, address)
                    .map_err(|version_1| PortAddressError::NoGid {
                        device: device(),
                        port: number,
                        address,
                        version_1,
                    })
                    .map(|(gid, index)| PortAddress::Roce {
                        port: number,
                        gid,
                        index,
                    })
            }
            (LinkLayer::Unknown(_), _) => Err(PortAddressError::LinkLayer {
                device: device(),
                port: number,
            }),
        }
    }
}

/// The RoCE v2 GID of an address; an error says whether there is one of RoCE v1.
fn choose(entries: &[VerbsGidEntry], address: IpAddr) -> Result<(Gid, u8), bool> {
    let mut version_1 = false;
    for entry in entries
        .iter()
        .filter(|entry| entry.gid.address() == address.to_canonical())
    {
        // A queue pair names its GID in a byte.
        if let (GidType::RoceV2, Ok(index)) = (entry.kind, u8::try_from(entry.index)) {
            return Ok((entry.gid, index));
        }
        version_1 |= entry.kind == GidType::RoceV1;
    }
    Err(version_1)
}

impl VerbsGidEntry {
    /// `None` for an entry of zeros, as older kernels show unused ones.
    fn new(index: u32, entry: &abi::GidEntry) -> Option<Self> {
        let gid = Gid(entry.gid.bytes().into());
        let kind = match entry.gid_type {
            abi::GID_INFINIBAND => GidType::InfiniBand,
            abi::GID_ROCE_V1 => GidType::RoceV1,
            abi::GID_ROCE_V2 => GidType::RoceV2,
            code => GidType::Unknown(code),
        };
        (!gid.is_empty()).then_some(Self {
            index,
            gid,
            kind,
            interface_index: entry.ndev_ifindex,
        })
    }
}

fn is_unused(error: &std::io::Error) -> bool {
    let unused = [Errno::NODATA, Errno::NOENT].map(Errno::raw_os_error);
    error
        .raw_os_error()
        .is_some_and(|code| unused.contains(&code))
}
