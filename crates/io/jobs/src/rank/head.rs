//! The head: it knows all ranks, and decides when the job is over.

use std::{
    collections::BTreeMap,
    io::Write,
    net::TcpStream,
    os::unix::net::UnixStream,
    path::Path,
    time::{Duration, Instant},
};

use crosstie_launch::{
    job::JobEndRule,
    job_protocol::{RankEnd, RankMessage, RankPhase},
};

use super::{
    HEARTBEAT_INTERVAL, JOIN_TIMEOUT, POLL_INTERVAL, RANK_END_TIMEOUT, Rank, RankError,
    events::RankEvent,
    listening::is_listening,
    name_of,
    peers::{JobSecret, listen, write_line},
    remote, with_causes,
};

struct Peer {
    stream: TcpStream,
    heard: Instant,
    is_ready: bool,
}

struct Head<'a, 'b> {
    rank: &'a mut Rank<'b>,
    peers: BTreeMap<u32, Peer>,
    /// Ranks whose engines have ended, and how.
    ended: BTreeMap<u32, RankEnd>,
    first_end: Option<Instant>,
    is_started: bool,
    /// Who asked for a command on another node.
    askers: BTreeMap<u64, UnixStream>,
    commands: u64,
    began: Instant,
    said: Instant,
}

pub(super) fn run(rank: &mut Rank<'_>, folder: &Path) -> Result<RankEnd, RankError> {
    let secret = JobSecret::of(rank.file).ok_or(RankError::Secret)?;
    let count = u32::try_from(rank.file.hosts.len()).unwrap_or(u32::MAX);
    let address = rank.file.watch;
    if count > 1 {
        listen(address, secret, count, rank.sender.clone())
            .map_err(|source| RankError::Listen { address, source })?;
    }
    if rank.file.plan.starts_on_peers {
        remote::listen(folder, rank.sender.clone()).map_err(RankError::Socket)?;
    }
    let mut head = Head {
        rank,
        peers: BTreeMap::new(),
        ended: BTreeMap::new(),
        first_end: None,
        is_started: false,
        askers: BTreeMap::new(),
        commands: 0,
        began: Instant::now(),
        said: Instant::now(),
    };
    let ended = loop {
        if let Some(ended) = head.step() {
            break ended;
        }
    };
    let (ok, why) = (ended.ok, ended.why.clone());
    head.tell(&RankMessage::Over { ok, why });
    Ok(ended)
}

fn failure(why: String) -> RankEnd {
    RankEnd { ok: false, why }
}

impl Head<'_, '_> {
    /// Some once the job is over.
    fn step(&mut self) -> Option<RankEnd> {
        if let Ok(event) = self.rank.events.recv_timeout(POLL_INTERVAL)
            && let Some(ended) = self.take(event)
        {
            return Some(ended);
        }
        if self.rank.is_stopped() {
            return Some(RankEnd {
                ok: true,
                why: "stopped".to_owned(),
            });
        }
        if let Some(ended) = self.start().err() {
            return Some(ended);
        }
        let silence: Vec<(u32, Duration)> = self
            .peers
            .iter()
            .map(|(rank, peer)| (*rank, peer.heard.elapsed()))
            .collect();
        self.rank.recorder.tick(&self.rank.engines, &silence);
        if self.said.elapsed() >= HEARTBEAT_INTERVAL {
            self.said = Instant::now();
            self.tell(&RankMessage::Alive);
        }
        let limit = self.rank.silence_limit();
        let silent = silence.iter().find(|(_, silence)| *silence >= limit);
        if let Some((rank, silence)) = silent {
            let name = name_of(self.rank.file, *rank);
            return Some(failure(format!(
                "{name} has been silent for {} s",
                silence.as_secs()
            )));
        }
        let hang = self.rank.hang();
        hang.map(|why| self.rank.failure(&why))
            .or_else(|| self.is_over())
    }

    fn take(&mut self, event: RankEvent) -> Option<RankEnd> {
        match event {
            RankEvent::Joined { rank, stream } => {
                self.peers.insert(
                    rank,
                    Peer {
                        stream,
                        heard: Instant::now(),
                        is_ready: false,
                    },
                );
            }
            RankEvent::Said { rank, message } => self.hear(rank, message),
            RankEvent::Lost { rank, why } => {
                // A rank whose engine ended well has nothing more to say.
                if !self.ended.get(&rank).is_some_and(|ended| ended.ok) {
                    let name = name_of(self.rank.file, rank);
                    return Some(failure(format!("{name} is gone: {why}")));
                }
                self.peers.remove(&rank);
            }
            RankEvent::Engine { ok, how } => {
                self.rank.engines.has_ended(0);
                self.note_end(0, ok, &how);
            }
            RankEvent::Wanted {
                host,
                command,
                asker,
            } => self.pass_on(&host, command, asker),
            RankEvent::Ran { .. } | RankEvent::NoHead { .. } => {}
        }
        None
    }

    fn hear(&mut self, rank: u32, message: RankMessage) {
        if let Some(peer) = self.peers.get_mut(&rank) {
            peer.heard = Instant::now();
            peer.is_ready |= message == RankMessage::Ready;
        }
        match message {
            RankMessage::Ended { ok, why } => self.note_end(rank, ok, &why),
            RankMessage::Ran { id, code } => {
                if let Some(mut asker) = self.askers.remove(&id) {
                    // It may have gone meanwhile.
                    let _ = writeln!(asker, "{code}");
                }
            }
            _ => {}
        }
    }

    fn note_end(&mut self, rank: u32, ok: bool, how: &str) {
        let why = format!("{}: {how}", name_of(self.rank.file, rank));
        self.rank.engines.note(&why);
        self.ended.insert(rank, RankEnd { ok, why });
        self.first_end.get_or_insert_with(Instant::now);
    }

    /// The engine, once everybody is there that it needs.
    fn start(&mut self) -> Result<(), RankEnd> {
        let count = self.rank.file.hosts.len() - 1;
        let is_there = |rank| self.peers.contains_key(&rank) || self.ended.contains_key(&rank);
        let is_full = (1..=u32::try_from(count).unwrap_or(0)).all(is_there);
        let ready = self.peers.values().filter(|peer| peer.is_ready).count();
        let waits = self.rank.file.plan.waits_for_peers;
        if !self.is_started && (!waits || ready == count) {
            self.is_started = true;
            self.rank.recorder.phase(RankPhase::Starting);
            let started = self.rank.start_engine();
            started.map_err(|error| self.rank.failure(&with_causes(&error)))?;
        }
        let listens = self.rank.file.plan.listens;
        if self.is_started && is_full && listens.is_none_or(is_listening) {
            self.rank.recorder.phase(RankPhase::Running);
        }
        if !is_full || (waits && !self.is_started) {
            return self.missing();
        }
        Ok(())
    }

    fn missing(&self) -> Result<(), RankEnd> {
        if self.began.elapsed() < JOIN_TIMEOUT {
            return Ok(());
        }
        let ranks = 1..u32::try_from(self.rank.file.hosts.len()).unwrap_or(1);
        let is_missing = |rank: &u32| self.peers.get(rank).is_none_or(|peer| !peer.is_ready);
        let names = ranks.filter(is_missing);
        let names: Vec<String> = names.map(|rank| name_of(self.rank.file, rank)).collect();
        Err(RankEnd {
            ok: false,
            why: format!(
                "not ready within {} s: {}",
                JOIN_TIMEOUT.as_secs(),
                names.join(", ")
            ),
        })
    }

    fn is_over(&self) -> Option<RankEnd> {
        match self.rank.file.ending {
            JobEndRule::WithHead => {
                let head = self.ended.get(&0).cloned();
                let first = self.ended.iter().find(|(rank, _)| **rank != 0);
                let early = first.map(|(_, ended)| RankEnd {
                    ok: false,
                    why: format!("{}, before the head", ended.why),
                });
                head.or(early)
            }
            JobEndRule::WithAll => {
                if let Some(ended) = self.ended.values().find(|ended| !ended.ok) {
                    return Some(ended.clone());
                }
                if self.ended.len() == self.rank.file.hosts.len() {
                    return Some(RankEnd {
                        ok: true,
                        why: "all ranks have ended".to_owned(),
                    });
                }
                let late = self.first_end?.elapsed() >= RANK_END_TIMEOUT;
                let count = u32::try_from(self.rank.file.hosts.len()).unwrap_or(0);
                let goes_on = (0..count).find(|rank| !self.ended.contains_key(rank));
                late.then(|| RankEnd {
                    ok: false,
                    why: format!(
                        "{} goes on {} s after another has ended",
                        name_of(self.rank.file, goes_on.unwrap_or(0)),
                        RANK_END_TIMEOUT.as_secs()
                    ),
                })
            }
        }
    }

    fn pass_on(&mut self, host: &str, command: String, mut asker: UnixStream) {
        let place = self.rank.file.hosts.iter().position(|name| name == host);
        let rank = place.and_then(|place| u32::try_from(place).ok());
        let peer = rank.and_then(|rank| self.peers.get(&rank));
        self.commands += 1;
        let id = self.commands;
        let sent = peer.map(|peer| write_line(&peer.stream, &RankMessage::Run { id, command }));
        if matches!(sent, Some(Ok(()))) {
            self.askers.insert(id, asker);
            return;
        }
        let note = format!("no rank on '{host}' takes a command");
        self.rank.engines.note(&note);
        let _ = writeln!(asker, "255");
    }

    /// Whoever does not take it is silent soon, or lost already.
    fn tell(&self, message: &RankMessage) {
        for peer in self.peers.values() {
            let _ = write_line(&peer.stream, message);
        }
    }
}
