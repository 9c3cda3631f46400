//! From records, as they come in, to the hosts that they speak of.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
};

use crate::{
    MdnsHostName,
    dns::{DnsName, DnsRecord, DnsRecordData, DnsRecordKind},
};

/// What is asked for: who lets people log in, and who says that it is a workstation.
pub const SERVICES: [&str; 2] = ["_ssh._tcp.local", "_workstation._tcp.local"];

/// Names that are kept of one link, and addresses of one name.
const MAX_NAMES: usize = 256;
const MAX_ADDRESSES: usize = 16;

/// Questions in one message.
const MAX_QUESTIONS: usize = 16;

/// What was heard on one link.
#[derive(Debug, Default)]
pub struct MdnsHosts {
    /// Instances of the services, and whose each is once that is known.
    instances: BTreeMap<DnsName, Option<DnsName>>,
    hosts: BTreeMap<DnsName, Host>,
}

#[derive(Debug, Default)]
struct Host {
    addresses: BTreeSet<IpAddr>,
    /// Whoever spoke of it: often itself.
    told_by: Option<IpAddr>,
}

impl MdnsHosts {
    /// Takes what one message says. Records that belong to no instance that was heard of are not looked at.
    pub fn hear(&mut self, records: &[DnsRecord], told_by: IpAddr) {
        let services = SERVICES.map(DnsName::of);
        for record in records {
            if let DnsRecordData::Pointer(instance) = &record.data
                && services.contains(&record.name)
                && self.instances.len() < MAX_NAMES
            {
                self.instances.entry(instance.clone()).or_default();
            }
        }
        for record in records {
            if let DnsRecordData::Service(host) = &record.data
                && let Some(whose) = self.instances.get_mut(&record.name)
                && (self.hosts.len() < MAX_NAMES || self.hosts.contains_key(host))
            {
                *whose = Some(host.clone());
                let host = self.hosts.entry(host.clone()).or_default();
                host.told_by = host.told_by.or(Some(told_by));
            }
        }
        for record in records {
            if let DnsRecordData::Address(address) = record.data
                && let Some(host) = self.hosts.get_mut(&record.name)
                && host.addresses.len() < MAX_ADDRESSES
            {
                host.addresses.insert(address);
            }
        }
    }

    /// What is to be asked to know more.
    pub fn questions(&self) -> Vec<(DnsName, DnsRecordKind)> {
        let unowned = self.instances.iter().filter(|(_, whose)| whose.is_none());
        let unowned = unowned.map(|(instance, _)| (instance.clone(), DnsRecordKind::Service));
        let unreachable = self.hosts.iter();
        let unreachable = unreachable
            .filter(|(_, host)| host.addresses.is_empty())
            .flat_map(|(name, _)| {
                [DnsRecordKind::A, DnsRecordKind::Aaaa].map(|kind| (name.clone(), kind))
            });
        unowned.chain(unreachable).take(MAX_QUESTIONS).collect()
    }

    /// Hosts with their addresses; one that gave none has that of whoever told of it. A name that may not be shown is none.
    pub fn found(&self) -> impl Iterator<Item = (Option<MdnsHostName>, Vec<IpAddr>)> + '_ {
        self.hosts.iter().map(|(name, host)| {
            let mut addresses: Vec<IpAddr> = host.addresses.iter().copied().collect();
            if addresses.is_empty() {
                addresses.extend(host.told_by);
            }
            (MdnsHostName::new(name), addresses)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(name: &str, data: DnsRecordData) -> DnsRecord {
        let name = DnsName::of(name);
        DnsRecord { name, data }
    }

    fn address(text: &str) -> DnsRecordData {
        DnsRecordData::Address(text.parse().unwrap())
    }

    #[test]
    fn what_is_missing_is_asked_for() {
        let source: IpAddr = "192.0.2.7".parse().unwrap();
        let instance = DnsName::of("b._ssh._tcp.local");
        let mut hosts = MdnsHosts::default();
        hosts.hear(
            &[
                record(SERVICES[0], DnsRecordData::Pointer(instance.clone())),
                record(
                    "_ipp._tcp.local",
                    DnsRecordData::Pointer(DnsName::of("p._ipp._tcp.local")),
                ),
                record("other.local", address("192.0.2.9")),
            ],
            source,
        );
        assert_eq!(hosts.questions(), [(instance, DnsRecordKind::Service)]);
        assert_eq!(hosts.found().count(), 0);
        let service = record(
            "b._ssh._tcp.local",
            DnsRecordData::Service(DnsName::of("b.local")),
        );
        hosts.hear(&[service], source);
        let host = DnsName::of("b.local");
        let asked = [
            (host.clone(), DnsRecordKind::A),
            (host.clone(), DnsRecordKind::Aaaa),
        ];
        assert_eq!(hosts.questions(), asked);
        let found: Vec<_> = hosts.found().collect();
        assert_eq!(found, [(MdnsHostName::new(&host), vec![source])]);
        hosts.hear(&[record("b.local", address("192.0.2.8"))], source);
        assert_eq!(hosts.questions(), []);
        let (_, addresses) = hosts.found().next().unwrap();
        assert_eq!(addresses, ["192.0.2.8".parse::<IpAddr>().unwrap()]);
    }

    #[test]
    fn a_flood_is_bounded() {
        let source: IpAddr = "192.0.2.7".parse().unwrap();
        let mut hosts = MdnsHosts::default();
        for number in 0..2000 {
            let instance = format!("{number}._ssh._tcp.local");
            let host = format!("h{number}.local");
            hosts.hear(
                &[
                    record(SERVICES[0], DnsRecordData::Pointer(DnsName::of(&instance))),
                    record(&instance, DnsRecordData::Service(DnsName::of(&host))),
                    record(
                        "h0.local",
                        address(&format!("10.0.{}.{}", number / 256, number % 256)),
                    ),
                ],
                source,
            );
        }
        assert_eq!(hosts.found().count(), MAX_NAMES);
        assert_eq!(hosts.found().next().unwrap().1.len(), MAX_ADDRESSES);
        assert_eq!(hosts.questions().len(), MAX_QUESTIONS);
        // One instance that changes hands again and again.
        for number in 0..2000 {
            let host = format!("again{number}.local");
            let service = record(
                "0._ssh._tcp.local",
                DnsRecordData::Service(DnsName::of(&host)),
            );
            hosts.hear(&[service], source);
        }
        assert!(hosts.found().count() <= MAX_NAMES);
    }
}
