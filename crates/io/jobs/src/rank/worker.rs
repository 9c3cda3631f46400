//! Any rank but the head.

use std::{
    net::TcpStream,
    time::{Duration, Instant},
};

use crosstie_launch::job_protocol::{RankEnd, RankMessage, RankPhase};

use super::{
    HEARTBEAT_INTERVAL, POLL_INTERVAL, RANK_END_TIMEOUT, Rank, RankError,
    events::RankEvent,
    listening::is_listening,
    name_of,
    peers::{JobSecret, join, write_line},
    with_causes,
};

/// For the head to say that the job is over, once it was told of a failure.
const JOB_END_TIMEOUT: Duration = Duration::from_secs(20);

struct Worker<'a, 'b> {
    rank: &'a mut Rank<'b>,
    head: Option<TcpStream>,
    heard: Instant,
    said: Instant,
    is_ready: bool,
    /// How its engine ended, and when.
    ended: Option<(RankEnd, Instant)>,
}

pub(super) fn run(rank: &mut Rank<'_>) -> Result<RankEnd, RankError> {
    let secret = JobSecret::of(rank.file).ok_or(RankError::Secret)?;
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

fn failure(why: String) -> RankEnd {
    RankEnd { ok: false, why }
}

impl Worker<'_, '_> {
    fn step(&mut self) -> Option<RankEnd> {
        if let Ok(event) = self.rank.events.recv_timeout(POLL_INTERVAL)
            && let Some(ended) = self.take(event)
        {
            return Some(ended);
        }
        if self.rank.is_stopped() {
            let why = "stopped".to_owned();
            self.tell(&RankMessage::Ended {
                ok: false,
                why: why.clone(),
            });
            return Some(RankEnd { ok: true, why });
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
        if self.said.elapsed() >= HEARTBEAT_INTERVAL {
            self.said = Instant::now();
            self.tell(&RankMessage::Alive);
        }
        if self.head.is_some() && silence >= self.rank.silence_limit() {
            let head = name_of(self.rank.file, 0);
            return Some(failure(format!(
                "{head} has been silent for {} s",
                silence.as_secs()
            )));
        }
        if let Some((ended, at)) = &self.ended {
            let limit = if ended.ok {
                RANK_END_TIMEOUT
            } else {
                JOB_END_TIMEOUT
            };
            if at.elapsed() >= limit {
                return Some(ended.clone());
            }
        }
        let why = self.rank.hang()?;
        let ended = self.rank.failure(&why);
        self.tell(&RankMessage::Ended { ok: false, why });
        Some(ended)
    }

    fn take(&mut self, event: RankEvent) -> Option<RankEnd> {
        match event {
            RankEvent::Joined { stream, .. } => {
                self.head = Some(stream);
                self.heard = Instant::now();
                self.rank.recorder.phase(RankPhase::Starting);
                if let Some((ended, _)) = self.ended.clone() {
                    self.tell_end(&ended);
                }
            }
            RankEvent::Said { message, .. } => {
                self.heard = Instant::now();
                return self.hear(message);
            }
            RankEvent::Lost { why, .. } => {
                if let Some((ended, _)) = &self.ended {
                    return Some(ended.clone());
                }
                let head = name_of(self.rank.file, 0);
                return Some(failure(format!("{head} is gone: {why}")));
            }
            RankEvent::NoHead { why } => {
                let head = name_of(self.rank.file, 0);
                return Some(failure(format!("{head} cannot be reached: {why}")));
            }
            RankEvent::Engine { ok, how } => {
                self.rank.engines.has_ended(0);
                let ended = RankEnd { ok, why: how };
                self.tell_end(&ended);
                self.ended = Some((ended, Instant::now()));
            }
            RankEvent::Ran { id, code } => {
                self.rank.engines.has_ended(id);
                self.tell(&RankMessage::Ran { id, code });
            }
            RankEvent::Wanted { .. } => {}
        }
        None
    }

    fn hear(&mut self, message: RankMessage) -> Option<RankEnd> {
        match message {
            RankMessage::Over { ok, why } => Some(RankEnd { ok, why }),
            RankMessage::Run { id, command } if self.rank.file.plan.starts_on_peers => {
                if let Err(error) = self.rank.engines.run(id, &command) {
                    self.rank
                        .engines
                        .note(&format!("a command does not start: {error}"));
                    self.tell(&RankMessage::Ran { id, code: 255 });
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
        self.rank.recorder.phase(RankPhase::Running);
        self.tell(&RankMessage::Ready);
    }

    fn tell_end(&self, ended: &RankEnd) {
        let (ok, why) = (ended.ok, ended.why.clone());
        self.tell(&RankMessage::Ended { ok, why });
    }

    /// A head that does not take it is silent soon, or lost already.
    fn tell(&self, message: &RankMessage) {
        if let Some(head) = &self.head {
            let _ = write_line(head, message);
        }
    }
}
