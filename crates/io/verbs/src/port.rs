//! A port of a device.

use std::ptr::NonNull;

use crosstie_model::{Mtu, facts::rdma::LinkLayer};
use crosstie_verbs_abi as abi;

use crate::{
    call::{check, failed, field},
    context::DeviceContext,
    error::{EndpointError, VerbsCallError},
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerbsPort {
    pub number: u8,
    pub state: VerbsPortState,
    pub link_layer: LinkLayer,
    /// On InfiniBand, the largest packet that its subnet carries. On RoCE go by the interface's MTU instead
    /// (`fabric::wire::roce_path_mtu`): it may have changed since the driver last looked.
    pub active_mtu: Option<PathMtu>,
    /// 0 where no subnet manager has given one, as on Ethernet.
    pub lid: u16,
    pub(crate) gid_table_length: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerbsPortState {
    Down,
    /// The cable is in; InfiniBand waits for its subnet manager here.
    Initialising,
    Armed,
    Active,
    Unknown(u32),
}

/// The payload of a packet: 256 to 4096, a power of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PathMtu(u32);

impl PathMtu {
    pub fn bytes(self) -> u32 {
        self.0
    }

    pub(crate) fn code(self) -> u32 {
        // 256 is 1, and each step doubles.
        self.0.trailing_zeros() - 7
    }

    fn from_code(code: u32) -> Option<Self> {
        let known = abi::MTU_256..=abi::MTU_4096;
        known.contains(&code).then(|| Self(128 << code))
    }
}

impl TryFrom<Mtu> for PathMtu {
    type Error = EndpointError;

    fn try_from(mtu: Mtu) -> Result<Self, EndpointError> {
        let valid = mtu.0.is_power_of_two() && (256..=4096).contains(&mtu.0);
        valid
            .then_some(Self(mtu.0))
            .ok_or(EndpointError::PathMtu(mtu.0))
    }
}

/// libibverbs writes as many bytes as its version has, so there is room for more than any has.
#[repr(C, align(8))]
struct Attributes([u8; abi::PORT_ATTRIBUTES_ROOM]);

impl DeviceContext {
    pub fn port(&self, number: u8) -> Result<VerbsPort, VerbsCallError> {
        let mut attributes = Attributes([0; abi::PORT_ATTRIBUTES_ROOM]);
        let room = NonNull::from_mut(&mut attributes);
        let query = self.0.functions().ibv_query_port;
        // SAFETY: an open context, and more room than any version writes to.
        check(unsafe { query(self.0.raw.as_ptr(), number, room.as_ptr().cast()) })
            .map_err(failed(&self.0.name, "ibv_query_port"))?;
        // SAFETY: the offsets lie within the room, are aligned for what is read there, and every byte is initialised.
        let (state, mtu, gids, lid, link) = unsafe {
            (
                field::<_, u32>(room, abi::port::STATE),
                field::<_, u32>(room, abi::port::ACTIVE_MTU),
                field::<_, i32>(room, abi::port::GID_TABLE_LENGTH),
                field::<_, u16>(room, abi::port::LID),
                field::<_, u8>(room, abi::port::LINK_LAYER),
            )
        };
        Ok(VerbsPort {
            number,
            state: VerbsPortState::from_code(state),
            link_layer: link_layer(link.into()),
            active_mtu: PathMtu::from_code(mtu),
            lid,
            gid_table_length: u32::try_from(gids).unwrap_or(0),
        })
    }
}

impl VerbsPortState {
    fn from_code(code: u32) -> Self {
        match code {
            abi::PORT_DOWN => Self::Down,
            abi::PORT_INITIALISING => Self::Initialising,
            abi::PORT_ARMED => Self::Armed,
            abi::PORT_ACTIVE => Self::Active,
            code => Self::Unknown(code),
        }
    }
}

impl std::fmt::Display for VerbsPortState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Down => f.write_str("down"),
            Self::Initialising => f.write_str("initialising"),
            Self::Armed => f.write_str("armed"),
            Self::Active => f.write_str("active"),
            Self::Unknown(code) => write!(f, "in state {code}"),
        }
    }
}

fn link_layer(code: u32) -> LinkLayer {
    match code {
        abi::LINK_INFINIBAND => LinkLayer::InfiniBand,
        abi::LINK_ETHERNET => LinkLayer::Ethernet,
        code => LinkLayer::Unknown(code.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_mtus_and_their_codes() {
        for (bytes, code) in [(256, 1), (512, 2), (1024, 3), (2048, 4), (4096, 5)] {
            let mtu = PathMtu::try_from(Mtu(bytes)).unwrap();
            assert_eq!(mtu.code(), code);
            assert_eq!(PathMtu::from_code(code), Some(mtu));
        }
        for wrong in [0, 128, 1000, 8192] {
            assert!(PathMtu::try_from(Mtu(wrong)).is_err(), "{wrong}");
        }
        assert_eq!(PathMtu::from_code(0), None);
        assert_eq!(PathMtu::from_code(6), None);
    }
}
