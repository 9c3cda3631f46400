//! Addresses. Those that the kernel makes by itself (link-local, or from a router's announcement) are added again if they
//! were deleted, for the kernel makes them only when a link comes up, and others of that sort are let be. Temporary ones are
//! the kernel's own affair.

use std::net::IpAddr;

use super::{
    interfaces::{LinkCoverage, LinkMapping, MissingLink},
    kernel::{KernelNetwork, NLM_F_CREATE, NLM_F_REPLACE, ObjectKind},
    obstacle::NetworkRestoreObstacle,
    raw_message::RawMessage,
    state::SavedAddress,
};
use crate::netlink::{
    NetlinkError,
    message::{AF_INET, AF_INET6, address, text, u32_at},
};

/// `ifaddrmsg`: family u8, prefix length u8, flags u8, scope u8, index u32.
const ADDRESS: ObjectKind = ObjectKind {
    get: 22,
    new: 20,
    delete: 21,
    header: 8,
};
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const IFA_LABEL: u16 = 3;
const IFA_CACHEINFO: u16 = 6;
const IFA_FLAGS: u16 = 8;
const IFA_TARGET_NETNSID: u16 = 10;
const IFA_PROTO: u16 = 11;

/// Temporary, for IPv6.
const IFA_F_TEMPORARY: u32 = 0x01;
const IFA_F_MANAGETEMPADDR: u32 = 0x100;
/// The flags that somebody sets: nodad, home, mngtmpaddr, noprefixroute, autojoin. The kernel finds out the others.
const SETTABLE: u32 = 0x02 | 0x10 | IFA_F_MANAGETEMPADDR | 0x200 | 0x400;
const IFAPROT_KERNEL_RA: u8 = 2;
const IFAPROT_KERNEL_LL: u8 = 3;
const FOR_EVER: u32 = u32::MAX;

/// IPv4 in the kernel's order, which makes the first of a subnet the primary one; IPv6 sorted, whose order means nothing.
pub(super) fn read(
    kernel: &mut KernelNetwork,
    coverage: &LinkCoverage,
) -> Result<Vec<SavedAddress>, NetlinkError> {
    let messages = kernel.dump_both(ADDRESS)?;
    let covered = messages
        .iter()
        .filter(|message| coverage.covers(message.header_u32(4)));
    let mut found: Vec<SavedAddress> = covered.filter_map(parse).collect();
    found.sort_by_key(|own| {
        let family = own.message.header_u8(0);
        let sorted = (family == AF_INET6).then(|| own.message.clone());
        (family, own.index(), sorted)
    });
    Ok(found)
}

pub(super) fn parse(told: &RawMessage) -> Option<SavedAddress> {
    let family = told.header_u8(0);
    let flags = told
        .u32(IFA_FLAGS)
        .unwrap_or_else(|| told.header_u8(2).into());
    if family == AF_INET6 && flags & IFA_F_TEMPORARY != 0 {
        return None;
    }
    let lifetimes = told.get(IFA_CACHEINFO).unwrap_or_default();
    let seconds = |offset| u32_at(lifetimes, offset).filter(|seconds| *seconds != FOR_EVER);
    let mut message = told.clone();
    message.retain(|kind| !matches!(kind, IFA_CACHEINFO | IFA_FLAGS | IFA_TARGET_NETNSID));
    if let Some(field) = message.header.get_mut(2) {
        *field = 0;
    }
    message.set(IFA_FLAGS, &(flags & SETTABLE).to_ne_bytes());
    Some(SavedAddress {
        message,
        preferred: seconds(0),
        valid: seconds(4),
    })
}

impl SavedAddress {
    pub(super) fn index(&self) -> u32 {
        self.message.header_u32(4)
    }

    pub(super) fn ip(&self) -> Option<IpAddr> {
        let local = self.message.get(IFA_LOCAL);
        address(local.or_else(|| self.message.get(IFA_ADDRESS))?)
    }

    /// Lifetimes count down; whether there is an end to each is a setting.
    fn is_like(&self, other: &Self) -> bool {
        let ends = |own: &Self| (own.valid.is_some(), own.preferred.is_some());
        self.message == other.message && ends(self) == ends(other)
    }

    /// Kernels since 5.18 say which addresses are their own; before, a link-local one or one with flags like this may be.
    fn may_be_kernels(&self, says_origin: bool) -> bool {
        let flags = self.message.u32(IFA_FLAGS).unwrap_or_default();
        let is_announced = self.valid.is_some() && flags & IFA_F_MANAGETEMPADDR != 0;
        let is_link_local =
            matches!(self.ip(), Some(IpAddr::V6(own)) if own.is_unicast_link_local());
        match self.message.u8(IFA_PROTO) {
            Some(IFAPROT_KERNEL_RA | IFAPROT_KERNEL_LL) => true,
            _ => is_announced || (is_link_local && !says_origin),
        }
    }

    fn is_secondary_to(&self, other: &Self) -> bool {
        let subnet = |own: &Self| {
            let length = own.message.header_u8(1);
            match address(own.message.get(IFA_ADDRESS)?)? {
                IpAddr::V4(net) => {
                    let mask = u32::MAX.checked_shl(32 - u32::from(length.min(32)));
                    Some((own.index(), length, u32::from(net) & mask.unwrap_or(0)))
                }
                IpAddr::V6(_) => None,
            }
        };
        subnet(self).is_some() && subnet(self) == subnet(other)
    }

    fn describe(&self, interface: &str) -> String {
        let ip = self
            .ip()
            .map_or_else(|| "?".to_owned(), |ip| ip.to_string());
        format!("address {ip}/{} of {interface}", self.message.header_u8(1))
    }

    /// As it has to be now. A label begins with the interface's name.
    pub(super) fn translated(&self, interfaces: &LinkMapping) -> Result<Self, MissingLink> {
        let now = interfaces.link(self.index())?;
        let mut own = self.clone();
        own.message.set_header_u32(4, now.index);
        let label = own.message.get(IFA_LABEL).map(text);
        let before = interfaces.name_before(self.index());
        if let Some(rest) = label
            .as_deref()
            .and_then(|label| label.strip_prefix(&before))
        {
            own.message
                .set(IFA_LABEL, format!("{}{rest}\0", now.name).as_bytes());
        }
        Ok(own)
    }

    fn to_add(&self) -> RawMessage {
        let mut lifetimes = Vec::with_capacity(16);
        for seconds in [self.preferred, self.valid] {
            lifetimes.extend(seconds.unwrap_or(FOR_EVER).to_ne_bytes());
        }
        lifetimes.extend([0; 8]);
        self.message.clone().with(IFA_CACHEINFO, &lifetimes)
    }
}

pub(super) fn restore(
    kernel: &mut KernelNetwork,
    before: &[SavedAddress],
    interfaces: &LinkMapping,
) -> Result<Vec<NetworkRestoreObstacle>, NetlinkError> {
    let mut obstacles = Vec::new();
    let mut wanted = Vec::new();
    for own in before {
        match own.translated(interfaces) {
            Ok(own) => wanted.push(own),
            Err(MissingLink(interface)) => obstacles.push(NetworkRestoreObstacle::Gone {
                what: own.describe("").trim_end_matches(" of ").to_owned(),
                interface,
            }),
        }
    }
    let coverage = &interfaces.coverage;
    let now = read(kernel, coverage)?;
    let says_origin = now.iter().any(|own| own.message.get(IFA_PROTO).is_some());
    let extra = now.iter().filter(|own| {
        !own.may_be_kernels(says_origin) && !wanted.iter().any(|wanted| wanted.is_like(own))
    });
    let mut refused = Vec::new();
    for own in extra {
        if let Err(source) = kernel.change(ADDRESS.delete, 0, &own.message) {
            refused.push((own.clone(), "RTM_DELADDR", source));
        }
    }
    let now = read(kernel, coverage)?;
    make_room(kernel, &wanted, &now);
    let now = read(kernel, coverage)?;
    let is_missing = |wanted: &&SavedAddress| !now.iter().any(|own| own.is_like(wanted));
    for own in wanted.iter().filter(is_missing) {
        let flags = NLM_F_CREATE | NLM_F_REPLACE;
        if let Err(source) = kernel.change(ADDRESS.new, flags, &own.to_add()) {
            refused.push((own.clone(), "RTM_NEWADDR", source));
        }
    }
    // A primary address takes its secondary ones along.
    let now = read(kernel, coverage)?;
    for (own, call, source) in refused {
        let is_there = now.iter().any(|other| other.is_like(&own));
        if is_there == (call == "RTM_DELADDR") {
            let what = own.describe(&interfaces.name_now(own.index()));
            obstacles.push(NetworkRestoreObstacle::Kernel { what, call, source });
        }
    }
    Ok(obstacles)
}

/// Where an address is missing, those of its subnet that came after it would take its place as the primary one.
fn make_room(kernel: &mut KernelNetwork, wanted: &[SavedAddress], now: &[SavedAddress]) {
    let is_there = |own: &SavedAddress| now.iter().any(|found| found.is_like(own));
    let displaced = wanted.iter().enumerate().filter(|(place, own)| {
        let earlier = wanted[..*place].iter();
        let mut primaries = earlier.filter(|first| own.is_secondary_to(first));
        is_there(own) && primaries.any(|first| !is_there(first))
    });
    for (_, own) in displaced {
        if own.message.header_u8(0) == AF_INET {
            // Refused or gone along with another: adding tells.
            let _ = kernel.change(ADDRESS.delete, 0, &own.message);
        }
    }
}
