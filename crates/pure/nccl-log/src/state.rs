//! What was heard so far, in bounded tables.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::{
    line::{LogSegment, LogSpeaker},
    message::{
        ChannelPath, CommunicatorKey, NcclChannel, NcclDevice, NcclInit, NcclMessage,
        NcclQueuePairError,
    },
    tables::{ByteKey, NameTable, RecentCache, sum_of_end},
};

const MAX_HOSTS: usize = 4096;
const MAX_PROCESSES: usize = 16 << 10;
const MAX_COMMUNICATORS: usize = 4096;
const MAX_THREADS: usize = 64 << 10;
const MAX_RANKS: usize = 64 << 10;
const MAX_LINKS: usize = 128 << 10;
const MAX_SEEN: usize = 32 << 10;
const MAX_NAMES: usize = 256;
const MAX_LISTS: usize = 256;
const MAX_VERSIONS: usize = 16;
/// Bytes of a line that are kept to be shown.
const MAX_SHOWN: usize = 320;
/// Lines that are kept of one kind from one process.
const MAX_LINES: usize = 2;

pub(crate) type HostId = u32;
pub(crate) type ProcessNumber = u32;
pub(crate) type CommunicatorId = u32;
pub(crate) type NameId = u32;
pub(crate) type ListId = u32;

#[derive(Default)]
pub(crate) struct NcclLogState {
    pub(crate) hosts: NameTable,
    pub(crate) processes: Vec<NcclProcess>,
    pub(crate) communicators: Vec<CommunicatorRanks>,
    pub(crate) links: Vec<(RankLink, u64)>,
    pub(crate) seen: BTreeMap<(ObservationKind, ProcessNumber), Observation>,
    /// Networks and kinds of memory that channels go through.
    pub(crate) names: NameTable,
    pub(crate) lists: Vec<Vec<NcclDevice>>,
    pub(crate) versions: BTreeSet<String>,
    /// Lines of NCCL's.
    pub(crate) messages: u64,
    /// Ray left lines out that it found alike.
    pub(crate) ray_merged: bool,
    /// A table was full.
    pub(crate) truncated: bool,
    by_speaker: HashMap<Box<[u8]>, ProcessNumber>,
    recent_speakers: RecentCache<Box<[u8]>, ProcessNumber>,
    by_link: HashMap<RankLink, u32>,
    recent_links: RecentCache<RankLink, u32>,
    by_communicator: HashMap<(CommunicatorKey, Option<CommunicatorId>, u32), CommunicatorId>,
    by_thread: HashMap<(ProcessNumber, u32), CommunicatorId>,
    recent_threads: RecentCache<(ProcessNumber, u32), CommunicatorId>,
    by_list: HashMap<Vec<NcclDevice>, ListId>,
    ranks: usize,
}

pub(crate) struct NcclProcess {
    pub(crate) host: HostId,
    /// A process that shares a communicator with it: the way to the run that it belongs to. Itself where there is none.
    pub(crate) joined: ProcessNumber,
    /// It told of its start.
    started: bool,
    /// It told of a communicator.
    pub(crate) ranked: bool,
    /// The most machines that NCCL counted in one of its communicators.
    pub(crate) nodes: Option<u32>,
    pub(crate) infiniband: Option<ListId>,
    pub(crate) socket: Option<ListId>,
    first: Option<CommunicatorId>,
    latest: Option<CommunicatorId>,
}

/// Which host has which rank.
pub(crate) struct CommunicatorRanks {
    pub(crate) size: u32,
    pub(crate) hosts: BTreeMap<u32, HostId>,
    pub(crate) founder: ProcessNumber,
}

/// A way between two ranks, as one of them told it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RankLink {
    pub(crate) process: ProcessNumber,
    pub(crate) communicator: Option<CommunicatorId>,
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) receive: bool,
    pub(crate) way: RankLinkPath,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum RankLinkPath {
    Net {
        network: NameId,
        device: u32,
        gdr: bool,
    },
    Memory(NameId),
}

/// Things worth remembering with their lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum ObservationKind {
    Network(NameId),
    NetChannel { network: NameId, gdr: bool },
    InfinibandDevices,
    NoInfinibandDevice,
    NoVerbs,
    LinkLocalGid,
    GpuDirect { enabled: bool },
    QueuePair(NcclQueuePairError),
    Completion(u32),
    Registration,
    Plugin(NameId),
    InfinibandDisabled,
    SocketForced,
}

#[derive(Debug, Default)]
pub(crate) struct Observation {
    pub(crate) count: u64,
    pub(crate) lines: Vec<ShownLine>,
}

/// A line of the log to be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShownLine {
    pub(crate) number: u64,
    pub(crate) text: String,
}

impl NcclLogState {
    pub(crate) fn version(&mut self, version: &str) {
        const MAX_NAME_BYTES: usize = 64;
        let short = !version.is_empty() && version.len() <= MAX_NAME_BYTES;
        if short && (self.versions.len() < MAX_VERSIONS || self.versions.contains(version)) {
            self.versions.insert(version.to_owned());
        }
    }

    pub(crate) fn take(&mut self, segment: &LogSegment, number: u64, message: NcclMessage) {
        if let NcclMessage::Version(version) = &message {
            return self.version(version);
        }
        let Some(speaker) = segment.speaker else {
            return;
        };
        let Some(process) = self.process(speaker) else {
            self.truncated = true;
            return;
        };
        let line = (number, segment.shown);
        match message {
            NcclMessage::Version(_) => {}
            NcclMessage::Started => self.started(process, speaker),
            NcclMessage::Channel(channel) => self.channel(process, speaker.thread, &channel, line),
            NcclMessage::Init(init) => self.init(process, speaker.thread, &init),
            NcclMessage::InfinibandDevices(devices) => {
                let list = self.list(devices);
                self.processes[process as usize].infiniband = list;
                self.note(ObservationKind::InfinibandDevices, process, line);
            }
            NcclMessage::SocketDevices(devices) => {
                let list = self.list(devices);
                self.processes[process as usize].socket = list;
            }
            NcclMessage::VirtualDevice(index, name) => self.virtual_device(process, index, name),
            other => {
                if let Some(kind) = self.kind(other) {
                    self.note(kind, process, line);
                }
            }
        }
    }

    fn kind(&mut self, message: NcclMessage) -> Option<ObservationKind> {
        Some(match message {
            NcclMessage::Network(name) => ObservationKind::Network(self.name(&name)?),
            NcclMessage::Plugin(name) => ObservationKind::Plugin(self.name(&name)?),
            NcclMessage::NoInfinibandDevice => ObservationKind::NoInfinibandDevice,
            NcclMessage::NoVerbs => ObservationKind::NoVerbs,
            NcclMessage::Gid {
                index: 0,
                link_local: true,
            } => ObservationKind::LinkLocalGid,
            NcclMessage::GpuDirect { enabled } => ObservationKind::GpuDirect { enabled },
            NcclMessage::QueuePair(error) => ObservationKind::QueuePair(error),
            NcclMessage::Completion { status } => ObservationKind::Completion(status.min(255)),
            NcclMessage::Registration => ObservationKind::Registration,
            NcclMessage::InfinibandDisabled => ObservationKind::InfinibandDisabled,
            NcclMessage::SocketForced => ObservationKind::SocketForced,
            _ => return None,
        })
    }

    fn name(&mut self, name: &str) -> Option<NameId> {
        const MAX_NAME_BYTES: usize = 128;
        let id = self
            .names
            .id(name, MAX_NAMES)
            .filter(|_| name.len() <= MAX_NAME_BYTES);
        self.truncated |= id.is_none();
        id
    }

    fn process(&mut self, speaker: LogSpeaker) -> Option<ProcessNumber> {
        let sum = sum_of_end(speaker.process);
        if let Some(process) = self.recent_speakers.get(sum, &ByteKey(speaker.process)) {
            return Some(process);
        }
        if let Some(process) = self.by_speaker.get(speaker.process) {
            self.recent_speakers
                .put(sum, speaker.process.into(), *process);
            return Some(*process);
        }
        self.new_process(speaker)
    }

    /// Containers give the same process numbers again: a second start is another process.
    fn started(&mut self, process: ProcessNumber, speaker: LogSpeaker) {
        let again = self.processes[process as usize].started;
        let process = if again {
            self.new_process(speaker)
        } else {
            Some(process)
        };
        match process {
            Some(process) => self.processes[process as usize].started = true,
            None => self.truncated = true,
        }
    }

    fn new_process(&mut self, speaker: LogSpeaker) -> Option<ProcessNumber> {
        if self.processes.len() >= MAX_PROCESSES {
            return None;
        }
        let host = self
            .hosts
            .id(&String::from_utf8_lossy(speaker.host), MAX_HOSTS)?;
        let process = u32::try_from(self.processes.len()).ok()?;
        self.processes.push(NcclProcess {
            host,
            joined: process,
            started: false,
            ranked: false,
            nodes: None,
            infiniband: None,
            socket: None,
            first: None,
            latest: None,
        });
        let sum = sum_of_end(speaker.process);
        self.recent_speakers
            .put(sum, speaker.process.into(), process);
        self.by_speaker.insert(speaker.process.into(), process);
        Some(process)
    }

    fn list(&mut self, devices: Vec<NcclDevice>) -> Option<ListId> {
        if let Some(known) = self.by_list.get(&devices) {
            return Some(*known);
        }
        let id = u32::try_from(self.lists.len()).ok();
        let Some(id) = id.filter(|_| self.lists.len() < MAX_LISTS) else {
            self.truncated = true;
            return None;
        };
        self.by_list.insert(devices.clone(), id);
        self.lists.push(devices);
        Some(id)
    }

    /// Channels count joined devices after the physical ones.
    fn virtual_device(&mut self, process: ProcessNumber, index: u32, name: String) {
        const MAX_JOINED_DEVICES: usize = 256;
        let list = self.processes[process as usize].infiniband;
        let Some(list) = list.and_then(|list| self.lists.get(list as usize)) else {
            return;
        };
        let (mut devices, index) = (list.clone(), index as usize);
        if index != devices.len() || index >= MAX_JOINED_DEVICES {
            return;
        }
        let link = devices.first().and_then(|device| device.link.clone());
        devices.push(NcclDevice { name, link });
        if let Some(list) = self.list(devices) {
            self.processes[process as usize].infiniband = Some(list);
        }
    }

    fn init(&mut self, process: ProcessNumber, thread: u32, init: &NcclInit) {
        let this = &mut self.processes[process as usize];
        this.nodes = this.nodes.max(init.nodes);
        let known = match init.communicator {
            Some(communicator) => self.communicator(process, communicator, init.ranks),
            None => self.by_thread.get(&(process, thread)).copied(),
        };
        let Some(communicator) = known else {
            self.truncated |= init.communicator.is_some();
            return;
        };
        let host = self.processes[process as usize].host;
        self.has_rank(communicator, init.rank, host);
        let this = &mut self.processes[process as usize];
        this.ranked = true;
        this.first = this.first.or(known);
        this.latest = known;
        if self.by_thread.len() < MAX_THREADS || self.by_thread.contains_key(&(process, thread)) {
            self.by_thread.insert((process, thread), communicator);
            self.recent_threads.put(
                sum_of_thread(process, thread),
                (process, thread),
                communicator,
            );
        } else {
            self.truncated = true;
        }
    }

    /// Whoever shares a communicator is of the same run.
    fn communicator(
        &mut self,
        process: ProcessNumber,
        communicator: CommunicatorKey,
        size: u32,
    ) -> Option<CommunicatorId> {
        let parent = match communicator {
            CommunicatorKey::Id(_) => None,
            CommunicatorKey::Split { .. } => self.processes[process as usize].first,
        };
        let key = (communicator, parent, size);
        if let Some(known) = self.by_communicator.get(&key).copied() {
            let founder = self.communicators[known as usize].founder;
            self.join(founder, process);
            return Some(known);
        }
        if self.communicators.len() >= MAX_COMMUNICATORS {
            return None;
        }
        let id = u32::try_from(self.communicators.len()).ok()?;
        self.communicators.push(CommunicatorRanks {
            size,
            hosts: BTreeMap::new(),
            founder: process,
        });
        self.by_communicator.insert(key, id);
        Some(id)
    }

    pub(crate) fn has_rank(&mut self, communicator: CommunicatorId, rank: u32, host: HostId) {
        let hosts = &mut self.communicators[communicator as usize].hosts;
        if hosts.contains_key(&rank) {
            return;
        }
        if self.ranks >= MAX_RANKS {
            self.truncated = true;
            return;
        }
        self.ranks += 1;
        hosts.insert(rank, host);
    }

    fn join(&mut self, one: ProcessNumber, other: ProcessNumber) {
        let (one, other) = (self.shortened(one), self.shortened(other));
        let (low, high) = (one.min(other), one.max(other));
        self.processes[high as usize].joined = low;
    }

    /// As [`Self::root`], and the way there gets shorter, so that no order of lines makes it long.
    fn shortened(&mut self, mut process: ProcessNumber) -> ProcessNumber {
        loop {
            let next = self.processes[process as usize].joined;
            if next == process {
                return process;
            }
            let after = self.processes[next as usize].joined;
            self.processes[process as usize].joined = after;
            process = after;
        }
    }

    /// The first process of the same run.
    pub(crate) fn root(&self, mut process: ProcessNumber) -> ProcessNumber {
        while self.processes[process as usize].joined != process {
            process = self.processes[process as usize].joined;
        }
        process
    }

    fn channel(
        &mut self,
        process: ProcessNumber,
        thread: u32,
        channel: &NcclChannel,
        spoken: (u64, &[u8]),
    ) {
        let (name, device) = match &channel.via {
            ChannelPath::Net {
                network,
                device,
                gdr,
            } => (network, Some((*device, *gdr))),
            ChannelPath::Memory(kind) => (kind, None),
        };
        let Some(name) = self.name(name) else { return };
        let way = match device {
            Some((device, gdr)) => RankLinkPath::Net {
                network: name,
                device,
                gdr,
            },
            None => RankLinkPath::Memory(name),
        };
        let latest = self.processes[process as usize].latest;
        let communicator = self.known_thread(process, thread).or(latest);
        let link = RankLink {
            process,
            communicator,
            from: channel.from,
            to: channel.to,
            receive: channel.receive,
            way,
        };
        if let Some(known) = self.known_link(&link) {
            self.links[known as usize].1 += 1;
            return;
        }
        match u32::try_from(self.links.len()) {
            Ok(id) if self.links.len() < MAX_LINKS => {
                self.by_link.insert(link, id);
                self.links.push((link, 1));
            }
            _ => self.truncated = true,
        }
        if let RankLinkPath::Net { network, gdr, .. } = way {
            self.note(
                ObservationKind::NetChannel { network, gdr },
                process,
                spoken,
            );
        }
    }

    fn known_thread(&mut self, process: ProcessNumber, thread: u32) -> Option<CommunicatorId> {
        let (sum, key) = (sum_of_thread(process, thread), (process, thread));
        if let Some(known) = self.recent_threads.get(sum, &key) {
            return Some(known);
        }
        let known = self.by_thread.get(&key).copied()?;
        self.recent_threads.put(sum, key, known);
        Some(known)
    }

    fn known_link(&mut self, link: &RankLink) -> Option<u32> {
        let sum = u64::from(link.from) << 32 ^ u64::from(link.to) << 8 ^ u64::from(link.receive);
        if let Some(known) = self.recent_links.get(sum, link) {
            return Some(known);
        }
        let known = self.by_link.get(link).copied()?;
        self.recent_links.put(sum, *link, known);
        Some(known)
    }

    fn note(
        &mut self,
        kind: ObservationKind,
        process: ProcessNumber,
        (number, shown): (u64, &[u8]),
    ) {
        let full = self.seen.len() >= MAX_SEEN;
        let entry = match self.seen.get_mut(&(kind, process)) {
            Some(entry) => entry,
            None if full => {
                self.truncated = true;
                return;
            }
            None => self.seen.entry((kind, process)).or_default(),
        };
        entry.count += 1;
        if entry.lines.len() < MAX_LINES {
            let text = String::from_utf8_lossy(&shown[..shown.len().min(MAX_SHOWN)]);
            let more = if shown.len() > MAX_SHOWN { "…" } else { "" };
            entry.lines.push(ShownLine {
                number,
                text: format!("{}{more}", text.trim_end()),
            });
        }
    }
}

fn sum_of_thread(process: ProcessNumber, thread: u32) -> u64 {
    u64::from(process) << 32 | u64::from(thread)
}
