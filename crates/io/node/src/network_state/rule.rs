//! Policy rules (`ip rule`), as raw messages.

use std::{collections::BTreeSet, net::IpAddr};

use super::{
    interfaces::LinkCoverage,
    kernel::{KernelNetwork, NLM_F_CREATE, NLM_F_EXCL, ObjectKind},
    obstacle::NetworkRestoreObstacle,
    raw_message::RawMessage,
};
use crate::netlink::{
    NetlinkError,
    message::{AF_INET6, address, text},
};
use ipnet::IpNet;
use rustix::io::Errno;

/// `fib_rule_hdr`: family, destination length, source length, TOS, table, two reserved, action: u8 each; flags u32.
const RULE: ObjectKind = ObjectKind {
    get: 34,
    new: 32,
    delete: 33,
    header: 12,
};
const FRA_SRC: u16 = 2;
const FRA_IIFNAME: u16 = 3;
const FRA_PRIORITY: u16 = 6;
const FRA_OIFNAME: u16 = 17;
const FRA_PAD: u16 = 18;
/// Inverted, and finding a source address. The others tell whether its target and interfaces are there.
const SETTABLE: u32 = 0x2 | 0x1_0000;

/// Which rules belong to the interfaces: those that name one, or that are for packets from an address of one.
#[derive(Debug)]
pub(super) enum RuleCoverage {
    Everything,
    Of {
        names: BTreeSet<String>,
        addresses: BTreeSet<IpAddr>,
    },
}

impl RuleCoverage {
    pub(super) fn new(
        coverage: &LinkCoverage,
        names: impl Iterator<Item = String>,
        addresses: impl Iterator<Item = IpAddr>,
    ) -> Self {
        if coverage.is_everything() {
            return Self::Everything;
        }
        Self::Of {
            names: names.collect(),
            addresses: addresses.collect(),
        }
    }

    pub(super) fn covers(&self, rule: &RawMessage) -> bool {
        let Self::Of { names, addresses } = self else {
            return true;
        };
        let named = [FRA_IIFNAME, FRA_OIFNAME]
            .into_iter()
            .filter_map(|kind| rule.get(kind).map(text));
        let source = rule.get(FRA_SRC).and_then(address);
        let source = source.and_then(|source| IpNet::new(source, rule.header_u8(2)).ok());
        named.into_iter().any(|name| names.contains(&name))
            || source.is_some_and(|net| {
                net.prefix_len() > 0 && addresses.iter().any(|own| net.contains(own))
            })
    }
}

/// In the kernel's order, which counts among rules of one priority.
pub(super) fn read(
    kernel: &mut KernelNetwork,
    coverage: &RuleCoverage,
) -> Result<Vec<RawMessage>, NetlinkError> {
    let mut rules = kernel.dump_both(RULE)?;
    for rule in &mut rules {
        rule.set_header_u32(8, rule.header_u32(8) & SETTABLE);
        rule.retain(|kind| kind != FRA_PAD);
        // The kernel leaves a priority of zero out, and gives a rule without one another.
        let priority = rule.u32(FRA_PRIORITY).unwrap_or_default();
        rule.set(FRA_PRIORITY, &priority.to_ne_bytes());
    }
    rules.retain(|rule| coverage.covers(rule));
    Ok(rules)
}

pub(super) fn restore(
    kernel: &mut KernelNetwork,
    before: &[RawMessage],
    coverage: &RuleCoverage,
) -> Result<Vec<NetworkRestoreObstacle>, NetlinkError> {
    let now = read(kernel, coverage)?;
    let mut obstacles = Vec::new();
    let missing: Vec<&RawMessage> = before.iter().filter(|rule| !now.contains(rule)).collect();
    for rule in missing {
        match kernel.change(RULE.new, NLM_F_CREATE | NLM_F_EXCL, rule) {
            // Somebody else was faster, here and below.
            Ok(()) | Err(NetlinkError::Refused(Errno::EXIST)) => {}
            Err(error) => obstacles.push(failed(rule, "RTM_NEWRULE", error)),
        }
    }
    for rule in now.iter().filter(|rule| !before.contains(rule)) {
        match kernel.change(RULE.delete, 0, rule) {
            Ok(()) | Err(NetlinkError::Refused(Errno::NOENT)) => {}
            Err(error) => obstacles.push(failed(rule, "RTM_DELRULE", error)),
        }
    }
    Ok(obstacles)
}

fn failed(rule: &RawMessage, call: &'static str, source: NetlinkError) -> NetworkRestoreObstacle {
    let family = match rule.header_u8(0) {
        AF_INET6 => "IPv6",
        _ => "IPv4",
    };
    let priority = rule.u32(FRA_PRIORITY).unwrap_or_default();
    let named = [FRA_IIFNAME, FRA_OIFNAME]
        .into_iter()
        .filter_map(|kind| rule.get(kind).map(text));
    let named: Vec<String> = named.collect();
    let over = match named.as_slice() {
        [] => String::new(),
        some => format!(" for {}", some.join(" and ")),
    };
    NetworkRestoreObstacle::Kernel {
        what: format!("{family} rule of priority {priority}{over}"),
        call,
        source,
    }
}
