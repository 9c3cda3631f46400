//! Speaking and listening, on all interfaces at once.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use crosstie_fabric::cabling::{
    CablingRequest, DecodedFrame, FRAME, FrameSender, FramesFrom, PortReception, decode, encode,
};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
};

use super::{ListenControl, interface::CablingInterface, packet::PacketSocket};
use crate::netlink::link_client::LinkClient;

/// Each port says its name as often as this. A cable that loses nine frames in ten is still found.
const SEND_INTERVAL: Duration = Duration::from_millis(100);
const BURSTS_A_SECOND: u32 = 10;

/// How long a stop may go unnoticed.
const STOP_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Senders that one port remembers; only our own agents can add to them.
const MOST_SENDERS: usize = 16_384;

/// Frames that are read before the others have their turn.
const TURN: usize = 256;

struct PortListener {
    /// Which of the ports.
    port: usize,
    sender: FrameSender,
    mac: [u8; 6],
    socket: PacketSocket,
    heard: BTreeMap<FrameSender, u32>,
}

impl PortListener {
    /// What it said itself may come back.
    fn note_own_frame(&mut self, sender: FrameSender) {
        let is_known = self.heard.contains_key(&sender);
        if sender != self.sender && (is_known || self.heard.len() < MOST_SENDERS) {
            let frames = self.heard.entry(sender).or_default();
            *frames = frames.saturating_add(1);
        }
    }
}

pub(super) fn listen(
    probe: &CablingRequest,
    links: &mut LinkClient,
    ports: &mut [CablingInterface],
    until: Instant,
    conduct: &ListenControl,
) {
    let mut ears = open(probe, ports);
    let mut sequence = 0;
    let mut next = Instant::now();
    let mut told = Default::default();
    let is_over = || conduct.stop.is_set() || conduct.end.is_set() || Instant::now() >= until;
    while !is_over() {
        if Instant::now() >= next {
            for ear in &ears {
                let frame = encode(ear.mac, probe.token, &probe.key, ear.sender, sequence);
                // A link that is not up yet, or whose queue is full: the next burst may fare better.
                let _ = ear.socket.send(&frame);
            }
            look_at_carriers(links, ports);
            let now = reportable_state(&ears, ports);
            if told != now || sequence % BURSTS_A_SECOND == 0 {
                (conduct.on_hearing)(&hearing(&ears, ports));
                told = now;
            }
            sequence += 1;
            next = Instant::now() + SEND_INTERVAL;
        }
        wait(
            &ears,
            next.min(until).saturating_duration_since(Instant::now()),
        );
        for ear in &mut ears {
            receive_frames(probe, ear, &mut ports[ear.port]);
        }
    }
    let heard = hearing(&ears, ports);
    for (port, heard) in ports.iter_mut().zip(heard) {
        port.heard = heard;
    }
}

/// What every port heard so far.
fn hearing(ears: &[PortListener], ports: &[CablingInterface]) -> Vec<PortReception> {
    let mut all: Vec<PortReception> = ports.iter().map(|port| port.heard.clone()).collect();
    for ear in ears {
        let heard = ear.heard.iter();
        let heard = heard.map(|(sender, frames)| FramesFrom {
            sender: *sender,
            frames: *frames,
        });
        all[ear.port].heard = heard.collect();
    }
    all
}

/// What is worth telling at once: somebody new, or a carrier.
fn reportable_state(
    ears: &[PortListener],
    ports: &[CablingInterface],
) -> (Vec<usize>, Vec<Option<bool>>) {
    let heard = ears.iter().map(|ear| ear.heard.len());
    let carriers = ports.iter().map(|port| port.heard.carrier);
    (heard.collect(), carriers.collect())
}

fn open(probe: &CablingRequest, ports: &mut [CablingInterface]) -> Vec<PortListener> {
    let mut ears = Vec::new();
    for (index, port) in ports.iter_mut().enumerate() {
        let (Some(link), None) = (&port.link, &port.heard.problem) else {
            continue;
        };
        let (Ok(mac), Ok(number)) = (link.mac.as_slice().try_into(), u16::try_from(index)) else {
            continue;
        };
        match PacketSocket::open(&port.name) {
            Ok(socket) => ears.push(PortListener {
                port: index,
                sender: FrameSender {
                    node: probe.node,
                    port: number,
                },
                mac,
                socket,
                heard: BTreeMap::new(),
            }),
            Err(why) => port.heard.problem = Some(why),
        }
    }
    ears
}

fn wait(ears: &[PortListener], longest: Duration) {
    let mut waited: Vec<PollFd<'_>> = ears
        .iter()
        .map(|ear| PollFd::new(ear.socket.descriptor(), PollFlags::IN))
        .collect();
    let timeout = Timespec::try_from(longest.min(STOP_POLL_INTERVAL)).ok();
    // A signal, or nothing: the loop around it goes on either way.
    let _ = poll(&mut waited, timeout.as_ref());
}

fn receive_frames(probe: &CablingRequest, ear: &mut PortListener, port: &mut CablingInterface) {
    // One byte more than a frame, which only padding would fill.
    let mut buffer = [0; FRAME + 1];
    for _ in 0..TURN {
        let frame = match ear.socket.receive(&mut buffer) {
            Ok(frame) => frame,
            // The link went down or came up, and that is told once.
            Err(Errno::NETDOWN) => continue,
            Err(_) => return,
        };
        match decode(frame, probe.token, &probe.key) {
            Some(DecodedFrame::Ours { sender, .. }) => ear.note_own_frame(sender),
            Some(DecodedFrame::Stranger) => {
                port.heard.strangers = port.heard.strangers.saturating_add(1);
            }
            None => {}
        }
    }
}

fn look_at_carriers(links: &mut LinkClient, ports: &mut [CablingInterface]) {
    for port in ports.iter_mut().filter(|port| port.heard.problem.is_none()) {
        if port.heard.carrier != Some(true)
            && let Ok(Some(link)) = links.find(&port.name)
            && link.is_up
        {
            port.heard.carrier = Some(link.carrier);
        }
    }
}
