//! From records, as they come in, to the hosts that they speak of.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
};

use crate::{
    HostName,
    dns::{Data, Kind, Name, Record},
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
pub struct Hosts {
    /// Instances of the services, and whose each is once that is known.
    instances: BTreeMap<Name, Option<Name>>,
    hosts: BTreeMap<Name, Host>,
}

#[derive(Debug, Default)]
struct Host {
    addresses: BTreeSet<IpAddr>,
    /// Whoever spoke of it: often itself.
    told_by: Option<IpAddr>,
}

impl Hosts {
    /// Takes what one message says. Records that belong to no instance that was heard of are not looked at.
    pub fn hear(&mut self, records: &[Record], told_by: IpAddr) {
        let services = SERVICES.map(Name::of);
        for record in records {
            if let Data::Pointer(instance) = &record.data
                && services.contains(&record.name)
                && self.instances.len() < MAX_NAMES
            {
                self.instances.entry(instance.clone()).or_default();
            }
        }
        for record in records {
            if let Data::Service(host) = &record.data
                && let Some(whose) = self.instances.get_mut(&record.name)
                && (self.hosts.len() < MAX_NAMES || self.hosts.contains_key(host))
            {
                *whose = Some(host.clone());
                let host = self.hosts.entry(host.clone()).or_default();
                host.told_by = host.told_by.or(Some(told_by));
            }
        }
        for record in records {
            if let Data::Address(address) = record.data
                && let Some(host) = self.hosts.get_mut(&record.name)
                && host.addresses.len() < MAX_ADDRESSES
            {
                host.addresses.insert(address);
            }
        }
    }

    /// What is to be asked to know more.
    pub fn questions(&self) -> Vec<(Name, Kind)> {
        let unowned = self.instances.iter().filter(|(_, whose)| whose.is_none());
        let unowned = unowned.map(|(instance, _)| (instance.clone(), Kind::Service));
        let unreachable = self.hosts.iter();
        let unreachable = unreachable
            .filter(|(_, host)| host.addresses.is_empty())
            .flat_map(|(name, _)| [Kind::A, Kind::Aaaa].map(|kind| (name.clone(), kind)));
        unowned.chain(unreachable).take(MAX_QUESTIONS).collect()
    }

    /// Hosts with their addresses; one that gave none has that of whoever told of it. A name that may not be shown is none.
    pub fn found(&self) -> impl Iterator<Item = (Option<HostName>, Vec<IpAddr>)> + '_ {
        self.hosts.iter().map(|(name, host)| {
            let mut addresses: Vec<IpAddr> = host.addresses.iter().copied().collect();
            if addresses.is_empty() {
                addresses.extend(host.told_by);
            }
            (HostName::new(name), addresses)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(name: &str, data: Data) -> Record {
        let name = Name::of(name);
        Record { name, data }
    }

    fn address(text: &str) -> Data {
        Data::Address(text.parse().unwrap())
    }

    #[test]
    fn what_is_missing_is_asked_for() {
        let source: IpAddr = "192.0.2.7".parse().unwrap();
        let instance = Name::of("b._ssh._tcp.local");
        let mut hosts = Hosts::default();
        hosts.hear(
            &[
                record(SERVICES[0], Data::Pointer(instance.clone())),
                record(
                    "_ipp._tcp.local",
                    Data::Pointer(Name::of("p._ipp._tcp.local")),
                ),
                record("other.local", address("192.0.2.9")),
            ],
            source,
        );
        assert_eq!(hosts.questions(), [(instance, Kind::Service)]);
        assert_eq!(hosts.found().count(), 0);
        let service = record("b._ssh._tcp.local", Data::Service(Name::of("b.local")));
        hosts.hear(&[service], source);
        let host = Name::of("b.local");
        let asked = [(host.clone(), Kind::A), (host.clone(), Kind::Aaaa)];
        assert_eq!(hosts.questions(), asked);
        let found: Vec<_> = hosts.found().collect();
        assert_eq!(found, [(HostName::new(&host), vec![source])]);
        hosts.hear(&[record("b.local", address("192.0.2.8"))], source);
        assert_eq!(hosts.questions(), []);
        let (_, addresses) = hosts.found().next().unwrap();
        assert_eq!(addresses, ["192.0.2.8".parse::<IpAddr>().unwrap()]);
    }

    #[test]
    fn a_flood_is_bounded() {
        let source: IpAddr = "192.0.2.7".parse().unwrap();
        let mut hosts = Hosts::default();
        for number in 0..2000 {
            let instance = format!("{number}._ssh._tcp.local");
            let host = format!("h{number}.local");
            hosts.hear(
                &[
                    record(SERVICES[0], Data::Pointer(Name::of(&instance))),
                    record(&instance, Data::Service(Name::of(&host))),
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
            let service = record("0._ssh._tcp.local", Data::Service(Name::of(&host)));
            hosts.hear(&[service], source);
        }
        assert!(hosts.found().count() <= MAX_NAMES);
    }
}
