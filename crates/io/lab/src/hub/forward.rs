//! Who hears a frame, and when.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::time::Duration;

use super::fault::{AttachmentFaults, LinkDirection, LostFrames};
use super::{HubConfig, SegmentMedium};

/// Index of a NIC's socket over the whole hub.
pub(super) type HubPortIndex = usize;
type AttachmentIndex = usize;

/// More delayed frames than this are dropped: memory is bounded whatever the fault.
const MAX_DELAYED: usize = 16_384;
const MAX_LEARNED: usize = 4_096;

#[derive(Debug)]
struct Attachment {
    name: String,
    segment: usize,
    ports: Vec<HubPortIndex>,
    only_for: Option<[u8; 2]>,
    faults: AttachmentFaults,
    lost: LostFrames,
    outward: LinkDirection,
    inward: LinkDirection,
}

#[derive(Debug)]
struct Segment {
    medium: SegmentMedium,
    attachments: Vec<AttachmentIndex>,
    learned: HashMap<[u8; 6], AttachmentIndex>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Delayed {
    due: Duration,
    /// Keeps frames of the same instant in order.
    sequence: u64,
    to: AttachmentIndex,
    frame: Box<[u8]>,
}

#[derive(Debug)]
pub(super) struct FrameForwarder {
    attachments: Vec<Attachment>,
    segments: Vec<Segment>,
    attachment_of: Vec<AttachmentIndex>,
    delayed: BinaryHeap<Reverse<Delayed>>,
    sequence: u64,
}

impl FrameForwarder {
    pub(super) fn new(config: &HubConfig) -> Self {
        let mut fabric = Self {
            attachments: Vec::new(),
            segments: Vec::new(),
            attachment_of: Vec::new(),
            delayed: BinaryHeap::new(),
            sequence: 0,
        };
        for (index, segment) in config.segments.iter().enumerate() {
            let mut members = Vec::new();
            for attachment in &segment.attachments {
                let number = fabric.attachments.len();
                let first = fabric.attachment_of.len();
                fabric
                    .attachment_of
                    .extend(attachment.sockets.iter().map(|_| number));
                let seed = config.seed.wrapping_add(2 * number as u64);
                fabric.attachments.push(Attachment {
                    name: attachment.name.clone(),
                    segment: index,
                    ports: (first..fabric.attachment_of.len()).collect(),
                    only_for: attachment.only_for,
                    faults: AttachmentFaults::default(),
                    lost: LostFrames::default(),
                    outward: LinkDirection::new(seed),
                    inward: LinkDirection::new(seed.wrapping_add(1)),
                });
                members.push(number);
            }
            fabric.segments.push(Segment {
                medium: segment.medium,
                attachments: members,
                learned: HashMap::new(),
            });
        }
        fabric
    }

    pub(super) fn faults(&self) -> impl Iterator<Item = (&str, &AttachmentFaults)> {
        self.attachments
            .iter()
            .map(|attachment| (attachment.name.as_str(), &attachment.faults))
    }

    /// What each attachment lost.
    pub(super) fn lost(&self) -> impl Iterator<Item = (&str, LostFrames)> {
        let attachments = self.attachments.iter();
        attachments.map(|attachment| (attachment.name.as_str(), attachment.lost))
    }

    pub(super) fn faults_mut(&mut self, name: &str) -> Option<&mut AttachmentFaults> {
        self.attachments
            .iter_mut()
            .find(|attachment| attachment.name == name)
            .map(|attachment| &mut attachment.faults)
    }

    pub(super) fn clear_faults(&mut self) {
        for attachment in &mut self.attachments {
            attachment.faults = AttachmentFaults::default();
        }
    }

    /// The ports that share `port`'s segment.
    pub(super) fn neighbours(&self, port: HubPortIndex) -> impl Iterator<Item = HubPortIndex> {
        let segment = self.attachments[self.attachment_of[port]].segment;
        self.segments[segment]
            .attachments
            .iter()
            .flat_map(|member| self.attachments[*member].ports.iter().copied())
            .filter(move |other| *other != port)
    }

    /// Takes a frame from a NIC; `deliver` gets it for each port that hears it now.
    pub(super) fn forward(
        &mut self,
        from: HubPortIndex,
        frame: &[u8],
        now: Duration,
        mut deliver: impl FnMut(HubPortIndex, &[u8]),
    ) {
        let Some((target, source)) = addresses(frame) else {
            return;
        };
        let home = self.attachment_of[from];
        for port in &self.attachments[home].ports {
            if *port != from {
                deliver(*port, frame);
            }
        }
        let sender = &mut self.attachments[home];
        let Some(leaves) = sender.outward.pass(&sender.faults.sent, frame, now) else {
            sender.lost.sent += 1;
            return;
        };
        let segment = sender.segment;
        let only = self.segments[segment].learn(home, source, target);
        for index in 0..self.segments[segment].attachments.len() {
            let member = self.segments[segment].attachments[index];
            if member == home || only.is_some_and(|only| only != member) {
                continue;
            }
            let receiver = &mut self.attachments[member];
            if !receiver.hears(target) {
                continue;
            }
            match receiver
                .inward
                .pass(&receiver.faults.received, frame, leaves)
            {
                Some(due) if due <= now => {
                    for port in &receiver.ports {
                        deliver(*port, frame);
                    }
                }
                Some(due) if self.delayed.len() < MAX_DELAYED => {
                    self.sequence += 1;
                    self.delayed.push(Reverse(Delayed {
                        due,
                        sequence: self.sequence,
                        to: member,
                        frame: frame.into(),
                    }));
                }
                _ => receiver.lost.received += 1,
            }
        }
    }

    /// Delivers what is due; returns when the next delayed frame is.
    pub(super) fn release(
        &mut self,
        now: Duration,
        mut deliver: impl FnMut(HubPortIndex, &[u8]),
    ) -> Option<Duration> {
        while let Some(Reverse(next)) = self.delayed.peek() {
            if next.due > now {
                return Some(next.due);
            }
            if let Some(Reverse(frame)) = self.delayed.pop() {
                for port in &self.attachments[frame.to].ports {
                    deliver(*port, &frame.frame);
                }
            }
        }
        None
    }
}

impl Attachment {
    fn hears(&self, target: [u8; 6]) -> bool {
        match self.only_for {
            Some(prefix) => is_group(target) || target[..2] == prefix,
            None => true,
        }
    }
}

impl Segment {
    /// Notes where `source` lives; says where alone `target` does, if that is known.
    fn learn(
        &mut self,
        home: AttachmentIndex,
        source: [u8; 6],
        target: [u8; 6],
    ) -> Option<AttachmentIndex> {
        if self.medium == SegmentMedium::Repeat {
            return None;
        }
        let room = self.learned.len() < MAX_LEARNED || self.learned.contains_key(&source);
        if !is_group(source) && room {
            self.learned.insert(source, home);
        }
        if is_group(target) {
            return None;
        }
        self.learned.get(&target).copied()
    }
}

fn is_group(address: [u8; 6]) -> bool {
    address[0] & 1 == 1
}

fn addresses(frame: &[u8]) -> Option<([u8; 6], [u8; 6])> {
    let target = frame.first_chunk::<6>()?;
    let source = frame.get(6..12)?.first_chunk::<6>()?;
    Some((*target, *source))
}

#[cfg(test)]
mod tests;
