//! The hub's loop: one thread, one `poll`.

use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::control::answer;
use super::forward::{FrameForwarder, HubPortIndex};
use super::port::HubPort;
use super::{HubConfig, HubError};

/// A held-back sender is looked at again after this long even if nothing moved.
const HELD_BACK_POLL_INTERVAL: Duration = Duration::from_millis(50);
const MAX_REQUEST: usize = 64 * 1024;

struct Hub {
    fabric: FrameForwarder,
    listeners: Vec<UnixListener>,
    ports: Vec<Option<HubPort>>,
    control: UnixListener,
    clients: Vec<ControlClient>,
    started: Instant,
}

struct ControlClient {
    stream: UnixStream,
    line: Vec<u8>,
}

/// What a polled descriptor stands for.
#[derive(Debug, Clone, Copy)]
enum Token {
    Listener(HubPortIndex),
    Port(HubPortIndex),
    Control,
    Client(usize),
}

/// Serves the configuration at `config` until killed; socket paths are relative to its directory.
pub fn serve(config: &Path) -> Result<(), HubError> {
    let shown = config.display().to_string();
    let text = std::fs::read(config).map_err(|source| HubError::Socket {
        action: "read",
        path: shown.clone(),
        source,
    })?;
    let config_value: HubConfig =
        serde_json::from_slice(&text).map_err(|source| HubError::Config {
            path: shown.clone(),
            source,
        })?;
    if let Some(directory) = config.parent() {
        std::env::set_current_dir(directory).map_err(|source| HubError::Socket {
            action: "enter the directory of",
            path: shown,
            source,
        })?;
    }
    Hub::new(&config_value)?.run()
}

impl Hub {
    fn new(config: &HubConfig) -> Result<Self, HubError> {
        let mut listeners = Vec::new();
        for segment in &config.segments {
            for attachment in &segment.attachments {
                for socket in &attachment.sockets {
                    listeners.push(listen(socket)?);
                }
            }
        }
        Ok(Self {
            fabric: FrameForwarder::new(config),
            ports: listeners.iter().map(|_| None).collect(),
            listeners,
            // Last: who can reach the control socket finds every other one listening.
            control: listen(&config.control)?,
            clients: Vec::new(),
            started: Instant::now(),
        })
    }

    fn run(&mut self) -> Result<(), HubError> {
        loop {
            let now = self.started.elapsed();
            let ports = &mut self.ports;
            let next = self.fabric.release(now, |port, frame| {
                if let Some(Some(port)) = ports.get_mut(port) {
                    port.queue(frame, now);
                }
            });
            self.flush(now);
            for (token, flags) in self.wait(next, now)? {
                self.serve_token(token, flags);
            }
            self.flush(self.started.elapsed());
        }
    }

    fn wait(
        &self,
        next: Option<Duration>,
        now: Duration,
    ) -> Result<Vec<(Token, PollFlags)>, HubError> {
        let mut tokens = Vec::new();
        let mut fds = Vec::new();
        let mut held_back = false;
        for (index, listener) in self.listeners.iter().enumerate() {
            tokens.push(Token::Listener(index));
            fds.push(PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN));
        }
        for (index, port) in self.ports.iter().enumerate() {
            let Some(port) = port else { continue };
            let mut flags = PollFlags::empty();
            if port.backlog() > 0 {
                flags |= PollFlags::OUT;
            }
            if self.may_send(index, now) {
                flags |= PollFlags::IN;
            } else {
                held_back = true;
            }
            tokens.push(Token::Port(index));
            fds.push(PollFd::from_borrowed_fd(port.stream().as_fd(), flags));
        }
        tokens.push(Token::Control);
        fds.push(PollFd::from_borrowed_fd(
            self.control.as_fd(),
            PollFlags::IN,
        ));
        for (index, client) in self.clients.iter().enumerate() {
            tokens.push(Token::Client(index));
            fds.push(PollFd::from_borrowed_fd(
                client.stream.as_fd(),
                PollFlags::IN,
            ));
        }
        let mut timeout = next.map(|due| due.saturating_sub(now));
        if held_back {
            timeout = Some(timeout.map_or(HELD_BACK_POLL_INTERVAL, |time| {
                time.min(HELD_BACK_POLL_INTERVAL)
            }));
        }
        let timeout = timeout.and_then(|time| Timespec::try_from(time).ok());
        match poll(&mut fds, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(HubError::Poll(error.into())),
        }
        Ok(tokens
            .into_iter()
            .zip(&fds)
            .map(|(token, fd)| (token, fd.revents()))
            .filter(|(_, flags)| !flags.is_empty())
            .collect())
    }

    fn may_send(&self, port: HubPortIndex, now: Duration) -> bool {
        self.fabric.neighbours(port).all(|other| {
            self.ports[other]
                .as_ref()
                .is_none_or(|other| !other.holds_back(now))
        })
    }

    fn serve_token(&mut self, token: Token, flags: PollFlags) {
        match token {
            Token::Listener(index) => {
                if let Ok((stream, _)) = self.listeners[index].accept()
                    && stream.set_nonblocking(true).is_ok()
                {
                    self.ports[index] = Some(HubPort::new(stream, self.started.elapsed()));
                }
            }
            Token::Port(index) => {
                if flags.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR) {
                    self.receive(index);
                }
            }
            Token::Control => {
                if let Ok((stream, _)) = self.control.accept()
                    && stream.set_nonblocking(true).is_ok()
                {
                    self.clients.push(ControlClient {
                        stream,
                        line: Vec::new(),
                    });
                }
            }
            Token::Client(index) => self.serve_client(index),
        }
    }

    fn receive(&mut self, index: HubPortIndex) {
        // Taken out while its frames go to the others.
        let Some(mut port) = self.ports[index].take() else {
            return;
        };
        let now = self.started.elapsed();
        let (fabric, ports) = (&mut self.fabric, &mut self.ports);
        let outcome = port.receive(|frame| {
            fabric.forward(index, frame, now, |to, frame| {
                if let Some(Some(to)) = ports.get_mut(to) {
                    to.queue(frame, now);
                }
            });
        });
        if outcome.is_ok() {
            self.ports[index] = Some(port);
        }
    }

    fn flush(&mut self, now: Duration) {
        for slot in &mut self.ports {
            if slot.as_mut().is_some_and(|port| port.flush(now).is_err()) {
                *slot = None;
            }
        }
        self.clients
            .retain(|client| client.line.len() <= MAX_REQUEST);
    }

    fn serve_client(&mut self, index: usize) {
        use std::io::{Read, Write};
        let Some(client) = self.clients.get_mut(index) else {
            return;
        };
        let mut chunk = [0; 4096];
        let count = match client.stream.read(&mut chunk) {
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return,
            Err(_) => 0,
        };
        client.line.extend_from_slice(&chunk[..count]);
        while let Some(end) = client.line.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = client.line.drain(..=end).collect();
            let text = answer(&mut self.fabric, &String::from_utf8_lossy(&line));
            // A client that does not read its short answer loses it.
            let _ = client.stream.write_all(text.as_bytes());
        }
        if count == 0 {
            // Dropped by `flush`, so that the indices of this round stay valid.
            client.line.resize(MAX_REQUEST + 1, 0);
        }
    }
}

fn listen(path: &str) -> Result<UnixListener, HubError> {
    let failed = |action| {
        move |source| HubError::Socket {
            action,
            path: path.to_owned(),
            source,
        }
    };
    let listener = UnixListener::bind(path).map_err(failed("listen on"))?;
    listener.set_nonblocking(true).map_err(failed("prepare"))?;
    Ok(listener)
}
