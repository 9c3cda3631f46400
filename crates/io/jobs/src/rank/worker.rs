//! Any rank but the head.

use std::{
    net::TcpStream,
    time::{Duration, Instant},
};

use crosstie_launch::wire::{Ended, PeerMessage, Phase};

use super::{
    ENDING_LIMIT, HEARTBEAT, Rank, RankError, TICK,
    events::Event,
    listening::is_listening,
    name_of,
    peers::{Secret, join, say},
    with_causes,
};

/// For the head to say that the job is over, once it was told of a failure.
const LAST_WORD: Duration = Duration::from_secs(20);

struct Worker<'a, 'b> {
    rank: &'a mut Rank<'b>,
    head: Option<TcpStream>,
    heard: Instant,
    said: Instant,
    is_ready: bool,
    /// How its engine ended, and when.
    ended: Option<(Ended, Instant)>,
}

pub(super) fn run(rank: &mut Rank<'_>) -> Result<Ended, RankError> {
    let secret = Secret::of(rank.file).ok_or(RankError::Secret)?;
    let number = rank.file.plan.rank;
    join(rank.file.watch, secret, number, rank.sender.clone());
    let started = rank.start_engine();
    let mut worker = Worker {
        rank,
        head: None,
        heard: Instant::now(),
        said: Instant::now(),
        is_ready: false,
        ended: None,
    };
    if let Err(error) = started {
        worker.ended = Some((failure(with_causes(&error)), Instant::now()));
    }
    loop {
        if let Some(ended) = worker.step() {
            return Ok(ended);
        }
    }
}

fn failure(why: String) -> Ended {
    Ended { ok: false, why }
}

impl Worker<'_, '_> {
    fn step(&mut self) -> Option<Ended> {
        if let Ok(event) = self.rank.events.recv_timeout(TICK)
            && let Some(ended) = self.take(event)
        {
            return Some(ended);
        }
        if self.rank.is_stopped() {
            let why = "stopped".to_owned();
            self.tell(&PeerMessage::Ended {
                ok: false,
                why: why.clone(),
            });
            return Some(Ended { ok: true, why });
        }
        let silence = self.heard.elapsed();
        let silences = [(0, silence)];
        let silences = if self.head.is_some() {
            &silences[..]
        } else {
            &[]
        };
        self.rank.recorder.tick(&self.rank.engines, silences);
        self.become_ready();
        if self.said.elapsed() >= HEARTBEAT {
            self.said = Instant::now();
            self.tell(&PeerMessage::Alive);
        }
        if self.head.is_some() && silence >= self.rank.silence_limit() {
            let head = name_of(self.rank.file, 0);
            return Some(failure(format!(
                "{head} has been silent for {} s",
                silence.as_secs()
            )));
        }
        if let Some((ended, at)) = &self.ended {
            let limit = if ended.ok { ENDING_LIMIT } else { LAST_WORD };
            if at.elapsed() >= limit {
                return Some(ended.clone());
            }
        }
        let why = self.rank.hang()?;
        let ended = self.rank.failure(&why);
        self.tell(&PeerMessage::Ended { ok: false, why });
        Some(ended)
    }

    fn take(&mut self, event: Event) -> Option<Ended> {
        match event {
            Event::Joined { stream, .. } => {
                self.head = Some(stream);
                self.heard = Instant::now();
                self.rank.recorder.phase(Phase::Starting);
                if let Some((ended, _)) = self.ended.clone() {
                    self.tell_end(&ended);
                }
            }
            Event::Said { message, .. } => {
                self.heard = Instant::now();
                return self.hear(message);
            }
            Event::Lost { why, .. } => {
                if let Some((ended, _)) = &self.ended {
                    return Some(ended.clone());
                }
                let head = name_of(self.rank.file, 0);
                return Some(failure(format!("{head} is gone: {why}")));
            }
            Event::NoHead { why } => {
                let head = name_of(self.rank.file, 0);
                return Some(failure(format!("{head} cannot be reached: {why}")));
            }
            Event::Engine { ok, how } => {
                self.rank.engines.has_ended(0);
                let ended = Ended { ok, why: how };
                self.tell_end(&ended);
                self.ended = Some((ended, Instant::now()));
            }
            Event::Ran { id, code } => {
                self.rank.engines.has_ended(id);
                self.tell(&PeerMessage::Ran { id, code });
            }
            Event::Wanted { .. } => {}
        }
        None
    }

    fn hear(&mut self, message: PeerMessage) -> Option<Ended> {
        match message {
            PeerMessage::Over { ok, why } => Some(Ended { ok, why }),
            PeerMessage::Run { id, command } if self.rank.file.plan.starts_on_peers => {
                if let Err(error) = self.rank.engines.run(id, &command) {
                    self.rank
                        .engines
                        .note(&format!("a command does not start: {error}"));
                    self.tell(&PeerMessage::Ran { id, code: 255 });
                }
                None
            }
            _ => None,
        }
    }

    fn become_ready(&mut self) {
        let is_up = self.rank.file.plan.listens.is_none_or(is_listening);
        if self.is_ready || self.head.is_none() || self.ended.is_some() || !is_up {
            return;
        }
        self.is_ready = true;
        self.rank.recorder.phase(Phase::Running);
        self.tell(&PeerMessage::Ready);
    }

    fn tell_end(&self, ended: &Ended) {
        let (ok, why) = (ended.ok, ended.why.clone());
        self.tell(&PeerMessage::Ended { ok, why });
    }

    /// A head that does not take it is silent soon, or lost already.
    fn tell(&self, message: &PeerMessage) {
        if let Some(head) = &self.head {
            let _ = say(head, message);
        }
    }
}
