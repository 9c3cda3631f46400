//! The runs in a log: processes that share communicators, directly or over others.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crosstie_doctor::CheckHit;
use crosstie_model::{Facts, Severity};

use crate::{
    message::NcclDevice,
    report::NcclTransport,
    state::{
        CommunicatorId, HostId, NcclLogState, Observation, ObservationKind, ProcessNumber,
        RankLink, RankLinkPath,
    },
};

/// How many machines a run is on. A log may show one of them only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NodeCount {
    One,
    Many,
    Unknown,
}

pub(crate) struct NcclRun<'a> {
    pub(crate) state: &'a NcclLogState,
    pub(crate) facts: &'a [Facts],
    /// Its number, where the log holds several.
    pub(crate) number: Option<usize>,
    pub(crate) processes: BTreeSet<ProcessNumber>,
    pub(crate) links: Vec<(RankLink, u64)>,
    pub(crate) nodes: NodeCount,
    /// The most machines that NCCL counted.
    pub(crate) counted: Option<u32>,
    /// Its communicator with the most ranks, which tells ranks as the user counts them.
    pub(crate) largest: Option<CommunicatorId>,
    hosts: HashMap<(Option<CommunicatorId>, u32), HostId>,
    seen: Vec<HostObservation<'a>>,
}

/// Something remembered, and the host that said it.
pub(crate) type HostObservation<'a> = (ObservationKind, HostId, &'a Observation);

/// What is gathered for one run.
#[derive(Default)]
struct Parts<'a> {
    processes: BTreeSet<ProcessNumber>,
    links: Vec<(RankLink, u64)>,
    seen: Vec<HostObservation<'a>>,
    largest: Option<(u32, CommunicatorId)>,
}

/// The runs in the order of their first lines. Each thing is given to its run once: a log may hold thousands of them.
pub(crate) fn runs<'a>(state: &'a NcclLogState, facts: &'a [Facts]) -> Vec<NcclRun<'a>> {
    let run_of = membership(state);
    let mut parts: BTreeMap<ProcessNumber, Parts> = BTreeMap::new();
    for (process, run) in (0..).zip(&run_of) {
        parts.entry(*run).or_default().processes.insert(process);
    }
    let of = |process: ProcessNumber| run_of[process as usize];
    for link in &state.links {
        parts
            .entry(of(link.0.process))
            .or_default()
            .links
            .push(*link);
    }
    for ((kind, process), seen) in &state.seen {
        let host = state.processes[*process as usize].host;
        let run = parts.entry(of(*process)).or_default();
        run.seen.push((*kind, host, seen));
    }
    for (id, ranks) in (0..).zip(&state.communicators) {
        let run = parts.entry(of(ranks.founder)).or_default();
        let largest = &mut run.largest;
        if largest.is_none_or(|(size, _)| ranks.size > size) {
            *largest = Some((ranks.size, id));
        }
    }
    let several = parts.len() > 1;
    let numbered = parts.into_values().enumerate();
    numbered
        .map(|(index, parts)| NcclRun::new(state, facts, several.then_some(index + 1), parts))
        .collect()
}

/// The run of each process, by the first process of it. Who told of no communicator is of the run whose lines stand
/// around his.
fn membership(state: &NcclLogState) -> Vec<ProcessNumber> {
    let ids = || (0..).zip(&state.processes);
    let first = ids().find(|(_, process)| process.ranked);
    let mut current = first.map_or(0, |(id, _)| state.root(id));
    ids()
        .map(|(id, process)| {
            if process.ranked {
                current = state.root(id);
            }
            current
        })
        .collect()
}

impl<'a> NcclRun<'a> {
    fn new(
        state: &'a NcclLogState,
        facts: &'a [Facts],
        number: Option<usize>,
        parts: Parts<'a>,
    ) -> Self {
        let mut links = parts.links;
        links.sort_unstable();
        let told = parts.processes.iter();
        let mut run = Self {
            state,
            facts,
            number,
            hosts: ranks(state, &links),
            counted: told
                .filter_map(|id| state.processes[*id as usize].nodes)
                .max(),
            processes: parts.processes,
            links,
            seen: parts.seen,
            largest: parts.largest.map(|(_, id)| id),
            nodes: NodeCount::Unknown,
        };
        run.nodes = run.count_nodes();
        run
    }

    fn count_nodes(&self) -> NodeCount {
        match self.counted {
            Some(0 | 1) => return NodeCount::One,
            Some(_) => return NodeCount::Many,
            None => {}
        }
        // A channel over the network to a rank that no process of this log has leads elsewhere.
        let leads_away = |link: &RankLink| {
            matches!(link.way, RankLinkPath::Net { .. })
                && (self.host(link, link.from).is_none() || self.host(link, link.to).is_none())
        };
        if self.hosts().len() > 1 || self.links.iter().any(|(link, _)| leads_away(link)) {
            return NodeCount::Many;
        }
        let complete = self.largest.is_some_and(|id| {
            let ranks = &self.state.communicators[id as usize];
            ranks.hosts.len() == ranks.size as usize
        });
        if complete {
            NodeCount::One
        } else {
            NodeCount::Unknown
        }
    }

    pub(crate) fn hosts(&self) -> BTreeSet<HostId> {
        self.processes
            .iter()
            .map(|id| self.state.processes[*id as usize].host)
            .collect()
    }

    /// Where a rank of the link's communicator is.
    pub(crate) fn host(&self, link: &RankLink, rank: u32) -> Option<HostId> {
        self.hosts.get(&(link.communicator, rank)).copied()
    }

    /// Both ends are known, and on one machine.
    pub(crate) fn is_within_node(&self, link: &RankLink) -> bool {
        let ends = (self.host(link, link.from), self.host(link, link.to));
        matches!(ends, (Some(one), Some(other)) if one == other)
    }

    /// The channels over the network that count: those between nodes, or all where none is.
    pub(crate) fn net_links(&self) -> Vec<&(RankLink, u64)> {
        let net = |(link, _): &&(RankLink, u64)| matches!(link.way, RankLinkPath::Net { .. });
        let between = |(link, _): &&(RankLink, u64)| !self.is_within_node(link);
        let crossing: Vec<_> = self.links.iter().filter(net).filter(between).collect();
        if crossing.is_empty() {
            self.links.iter().filter(net).collect()
        } else {
            crossing
        }
    }

    pub(crate) fn transport(&self) -> NcclTransport {
        let mut networks: BTreeSet<&str> = BTreeSet::new();
        for (link, _) in self.net_links() {
            if let RankLinkPath::Net { network, .. } = link.way {
                networks.insert(self.state.names.get(network));
            }
        }
        if networks.is_empty() {
            networks.extend(self.networks());
        }
        networks
            .into_iter()
            .map(NcclTransport::of)
            .fold(NcclTransport::Unknown, NcclTransport::and)
    }

    /// What processes said they use.
    pub(crate) fn networks(&self) -> impl Iterator<Item = &'a str> {
        let state = self.state;
        self.seen(|kind| matches!(kind, ObservationKind::Network(_)))
            .into_iter()
            .filter_map(move |(kind, ..)| match kind {
                ObservationKind::Network(name) => Some(state.names.get(name)),
                _ => None,
            })
    }

    /// All channels over the network go straight to the GPU's memory.
    pub(crate) fn gdr(&self) -> Option<bool> {
        let links = self.net_links();
        if !links.is_empty() {
            return Some(
                links
                    .iter()
                    .all(|(link, _)| matches!(link.way, RankLinkPath::Net { gdr: true, .. })),
            );
        }
        let told = |enabled| {
            !self
                .seen(|kind| kind == ObservationKind::GpuDirect { enabled })
                .is_empty()
        };
        match (told(true), told(false)) {
            (_, true) => Some(false),
            (true, false) => Some(true),
            (false, false) => None,
        }
    }

    /// The devices that a process counts channels by.
    pub(crate) fn devices(
        &self,
        process: ProcessNumber,
        transport: NcclTransport,
    ) -> &'a [NcclDevice] {
        let process = &self.state.processes[process as usize];
        let list = if transport == NcclTransport::Socket {
            process.socket
        } else {
            process.infiniband
        };
        list.and_then(|list| self.state.lists.get(list as usize))
            .map_or(&[], Vec::as_slice)
    }

    /// What was remembered of such kinds, in the order of processes.
    pub(crate) fn seen(
        &self,
        wanted: impl Fn(ObservationKind) -> bool,
    ) -> Vec<HostObservation<'a>> {
        let all = self.seen.iter().filter(|(kind, ..)| wanted(*kind));
        all.copied().collect()
    }

    /// A hit about the hosts that said so, with the first lines in which they did.
    pub(crate) fn hit(&self, severity: Severity, seen: &[HostObservation]) -> CheckHit {
        let hosts: BTreeSet<HostId> = seen.iter().map(|(_, host, _)| *host).collect();
        let hit = CheckHit::new(severity, self.subject(&hosts));
        self.lines(hit, seen)
    }

    /// `spark-a, spark-b`, the run before it where there are several.
    pub(crate) fn subject(&self, hosts: &BTreeSet<HostId>) -> String {
        const MAX_NAMED: usize = 4;
        let mut names: Vec<&str> = hosts
            .iter()
            .map(|host| self.state.hosts.get(*host))
            .collect();
        names.sort_unstable();
        names.truncate(MAX_NAMED);
        let more = hosts.len().saturating_sub(MAX_NAMED);
        let run = self
            .number
            .map(|number| format!("run {number}: "))
            .unwrap_or_default();
        let rest = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        format!("{run}{}{rest}", names.join(", "))
    }

    /// The first lines as evidence, one of each host before a second of any.
    pub(crate) fn lines(&self, mut hit: CheckHit, seen: &[HostObservation]) -> CheckHit {
        const MAX_NAMED: usize = 4;
        let mut shown: BTreeSet<HostId> = BTreeSet::new();
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for (_, host, seen) in seen {
            for line in &seen.lines {
                let lines = if shown.insert(*host) {
                    &mut first
                } else {
                    &mut second
                };
                lines.push((line, *host));
            }
        }
        first.append(&mut second);
        first.truncate(MAX_NAMED);
        first.sort_by_key(|(line, _)| line.number);
        for (line, host) in &first {
            hit = hit.saw(
                self.state.hosts.get(*host),
                &line.text,
                format!("line {}", line.number),
            );
        }
        let all: u64 = seen.iter().map(|(_, _, seen)| seen.count).sum();
        let more = all.saturating_sub(first.len() as u64);
        if more > 0 {
            hit = hit.saw("more lines like these", more, "the log");
        }
        hit
    }
}

/// Hosts by communicator and rank: as told at the start, and by whoever told of a channel.
fn ranks(
    state: &NcclLogState,
    links: &[(RankLink, u64)],
) -> HashMap<(Option<CommunicatorId>, u32), HostId> {
    let mut hosts = HashMap::new();
    for (link, _) in links {
        if let Some(id) = link.communicator {
            for rank in [link.from, link.to] {
                if let Some(host) = state.communicators[id as usize].hosts.get(&rank) {
                    hosts.insert((link.communicator, rank), *host);
                }
            }
        }
    }
    for (link, _) in links {
        let own = if link.receive { link.to } else { link.from };
        let host = state.processes[link.process as usize].host;
        hosts.entry((link.communicator, own)).or_insert(host);
    }
    hosts
}
