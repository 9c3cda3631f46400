//! Which stand-in is whose.

use std::{
    collections::{BTreeMap, HashMap},
    net::IpAddr,
};

use crosstie_model::run::StoredRun;

use super::{stand_in_address, tokens};
use crate::run_report::ReplacedNameCount;

/// Shorter names are replaced only where they stand alone: `a` is in every word.
const LEAST_INSIDE: usize = 4;

/// Kinds of names, as they are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum NameKind {
    Host,
    User,
    Cluster,
    Plane,
    Address,
    HardwareAddress,
    Guid,
    Serial,
}

impl NameKind {
    fn words(self) -> &'static str {
        match self {
            Self::Host => "host name",
            Self::User => "user name",
            Self::Cluster => "cluster name",
            Self::Plane => "switch plane",
            Self::Address => "IP address",
            Self::HardwareAddress => "hardware address",
            Self::Guid => "GUID",
            Self::Serial => "serial number",
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct NameReplacements {
    by_kind: BTreeMap<NameKind, HashMap<String, String>>,
    /// Names that are looked for in texts, the longest first.
    known: Vec<(String, String)>,
    /// Of cables, as they are printed.
    cables: HashMap<String, String>,
}

impl NameReplacements {
    /// Everything that the header names, so that texts which come earlier than the name are replaced as well.
    pub(super) fn of(run: &StoredRun) -> Self {
        let mut names = Self::default();
        names.learn(run);
        names
    }

    /// As [`NameReplacements::of`], in addition to what is known.
    pub(super) fn learn(&mut self, run: &StoredRun) {
        let names = self;
        let header = &run.header;
        for node in &header.nodes {
            names.host(&node.host);
        }
        for cable in &header.cabling {
            for end in cable.ends() {
                names.host(&end.node);
            }
            if let crosstie_model::Cable::Switched { plane, .. } = cable {
                names.plane(plane);
            }
        }
        if let Some(cluster) = &header.cluster {
            names.cluster(cluster);
        }
        for measurement in &run.measurements {
            for end in [&measurement.from, &measurement.to] {
                names.host(&end.host);
                if let Some(address) = end.address {
                    names.address(address);
                }
            }
        }
        for cable in &header.cabling {
            let mut replaced = cable.clone();
            super::cable(&mut replaced, names);
            names.cables.insert(cable.to_string(), replaced.to_string());
        }
    }

    fn stand_in(
        &mut self,
        kind: NameKind,
        name: &str,
        make: impl FnOnce(usize) -> String,
    ) -> String {
        let of_kind = self.by_kind.entry(kind).or_default();
        if let Some(known) = of_kind.get(name) {
            return known.clone();
        }
        let stand_in = make(of_kind.len() + 1);
        of_kind.insert(name.to_owned(), stand_in.clone());
        stand_in
    }

    fn knows(&mut self, name: &str, stand_in: &str) {
        if name.is_empty() || self.known.iter().any(|(known, _)| known == name) {
            return;
        }
        self.known.push((name.to_owned(), stand_in.to_owned()));
        self.known
            .sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
    }

    /// `alice@spark-a.example.net` is a user, a host, and a host with its domain.
    pub(super) fn host(&mut self, host: &str) -> String {
        let made = self.stand_in(NameKind::Host, host, |index| format!("node-{index}"));
        self.knows(host, &made);
        let (user, machine) = host
            .rsplit_once('@')
            .map_or((None, host), |(user, rest)| (Some(user), rest));
        self.knows(machine, &made);
        if machine.parse::<IpAddr>().is_err()
            && let Some((first, domain)) = machine.split_once('.')
        {
            self.knows(first, &made);
            self.knows(domain, "example.invalid");
        }
        if let Some(user) = user.filter(|user| !user.is_empty()) {
            let made = self.stand_in(NameKind::User, user, |index| format!("user-{index}"));
            self.knows(user, &made);
        }
        made
    }

    pub(super) fn cluster(&mut self, cluster: &str) -> String {
        let made = self.stand_in(NameKind::Cluster, cluster, |index| {
            format!("cluster-{index}")
        });
        self.knows(cluster, &made);
        made
    }

    pub(super) fn plane(&mut self, plane: &str) -> String {
        let made = self.stand_in(NameKind::Plane, plane, |index| format!("plane-{index}"));
        self.knows(plane, &made);
        made
    }

    pub(super) fn address(&mut self, address: IpAddr) -> IpAddr {
        let made = self.stand_in(NameKind::Address, &address.to_string(), |index| {
            stand_in_address(address, index - 1).to_string()
        });
        made.parse().unwrap_or(address)
    }

    pub(super) fn hardware_address(&mut self, address: &str) -> String {
        let bytes = address.split(':').count();
        self.stand_in(
            NameKind::HardwareAddress,
            &address.to_ascii_lowercase(),
            |index| {
                // Locally administered, so it is nobody's.
                let mut parts = vec!["00".to_owned(); bytes.max(6)];
                "02".clone_into(&mut parts[0]);
                let last = parts.len();
                for (place, shift) in [(last - 1, 0), (last - 2, 8), (last - 3, 16)] {
                    parts[place] = format!("{:02x}", (index >> shift) & 0xff);
                }
                parts.join(":")
            },
        )
    }

    pub(super) fn guid(&mut self, guid: &str) -> String {
        let groups = guid.split(':').count();
        self.stand_in(NameKind::Guid, &guid.to_ascii_lowercase(), |index| {
            let mut parts = vec!["0000".to_owned(); groups.max(4)];
            "0200".clone_into(&mut parts[0]);
            let last = parts.len() - 1;
            parts[last] = format!("{index:04x}");
            parts.join(":")
        })
    }

    pub(super) fn serial(&mut self, serial: &str) -> String {
        self.stand_in(NameKind::Serial, serial, |index| format!("SERIAL-{index}"))
    }

    /// A cable as an end of a measurement has it.
    pub(super) fn cable(&mut self, cable: &str) -> String {
        if let Some(known) = self.cables.get(cable) {
            return known.clone();
        }
        let mut text = cable.to_owned();
        self.in_text(&mut text);
        text
    }

    /// Known names, and what looks like an address, a GUID or a serial number.
    pub(super) fn in_text(&mut self, text: &mut String) {
        // Patterns first: a name may be a part of one.
        let found = tokens::replace_tokens(text, self);
        *text = self.with_names(&found);
    }

    fn with_names(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        let mut before: Option<char> = None;
        while let Some(first) = rest.chars().next() {
            let hit = self
                .known
                .iter()
                .find(|(name, _)| matches(rest, before, name));
            if let Some((name, stand_in)) = hit {
                out += stand_in;
                // Whatever follows a name that was replaced is judged as if it stood alone.
                before = name.chars().last();
                rest = &rest[name.len()..];
            } else {
                out.push(first);
                before = Some(first);
                rest = &rest[first.len_utf8()..];
            }
        }
        out
    }

    pub(super) fn replaced(&self) -> Vec<ReplacedNameCount> {
        let kinds = self.by_kind.iter();
        kinds
            .map(|(kind, names)| ReplacedNameCount {
                what: kind.words(),
                count: names.len(),
            })
            .collect()
    }
}

/// Whether a text goes on with a name; upper and lower case are one.
fn matches(text: &str, before: Option<char>, name: &str) -> bool {
    let Some(found) = text.get(..name.len()) else {
        return false;
    };
    if !found.eq_ignore_ascii_case(name) {
        return false;
    }
    let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let after = text[name.len()..].chars().next();
    name.chars().count() >= LEAST_INSIDE || !(is_word(before) || is_word(after))
}
