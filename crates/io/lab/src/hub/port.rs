//! One NIC's connection: frames in, frames out, no allocation a frame once the buffers have grown.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

const LENGTH: usize = 4;
/// QEMU's own limit for a frame on a stream netdev is 64 KiB + 4 KiB (`NET_BUFSIZE`).
const MAX_FRAME: usize = 68 * 1024;
const INPUT: usize = 256 * 1024;
/// Above this the senders are held back, as link-level flow control would.
const HIGH_WATER: usize = 1024 * 1024;
/// A receiver that took nothing for this long holds nobody back any more: its frames are dropped.
const STALL_TIMEOUT: Duration = Duration::from_millis(200);

#[derive(Debug)]
pub(super) struct HubPort {
    stream: UnixStream,
    input: Vec<u8>,
    filled: usize,
    output: Vec<u8>,
    sent: usize,
    moved_at: Duration,
}

/// The other end is gone, or speaks something else.
#[derive(Debug)]
pub(super) struct HubPortClosed;

impl HubPort {
    pub(super) fn new(stream: UnixStream, now: Duration) -> Self {
        Self {
            stream,
            input: vec![0; INPUT],
            filled: 0,
            output: Vec::new(),
            sent: 0,
            moved_at: now,
        }
    }

    pub(super) fn stream(&self) -> &UnixStream {
        &self.stream
    }

    /// Reads once and hands each complete frame to `each`.
    pub(super) fn receive(&mut self, mut each: impl FnMut(&[u8])) -> Result<(), HubPortClosed> {
        match self.stream.read(&mut self.input[self.filled..]) {
            Ok(0) => return Err(HubPortClosed),
            Ok(count) => self.filled += count,
            Err(error) if is_passing(&error) => return Ok(()),
            Err(_) => return Err(HubPortClosed),
        }
        let mut start = 0;
        while let Some(head) = self.input[start..self.filled].first_chunk::<LENGTH>() {
            let length = u32::from_be_bytes(*head) as usize;
            if length > MAX_FRAME {
                return Err(HubPortClosed);
            }
            let end = start + LENGTH + length;
            if end > self.filled {
                break;
            }
            each(&self.input[start + LENGTH..end]);
            start = end;
        }
        self.input.copy_within(start..self.filled, 0);
        self.filled -= start;
        Ok(())
    }

    /// Takes a frame for sending; false when it had to be dropped.
    pub(super) fn queue(&mut self, frame: &[u8], now: Duration) -> bool {
        if self.backlog() == 0 {
            self.moved_at = now;
        }
        if self.backlog() > 2 * HIGH_WATER || (self.is_full() && self.is_stalled(now)) {
            return false;
        }
        let Ok(length) = u32::try_from(frame.len()) else {
            return false;
        };
        self.output.extend_from_slice(&length.to_be_bytes());
        self.output.extend_from_slice(frame);
        true
    }

    pub(super) fn flush(&mut self, now: Duration) -> Result<(), HubPortClosed> {
        while self.backlog() > 0 {
            match self.stream.write(&self.output[self.sent..]) {
                Ok(0) => return Err(HubPortClosed),
                Ok(count) => {
                    self.sent += count;
                    self.moved_at = now;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_passing(&error) => break,
                Err(_) => return Err(HubPortClosed),
            }
        }
        if self.backlog() == 0 {
            self.output.clear();
            self.sent = 0;
        } else if self.sent > HIGH_WATER {
            self.output.drain(..self.sent);
            self.sent = 0;
        }
        Ok(())
    }

    pub(super) fn backlog(&self) -> usize {
        self.output.len() - self.sent
    }

    /// Whether senders should wait for this receiver.
    pub(super) fn holds_back(&self, now: Duration) -> bool {
        self.is_full() && !self.is_stalled(now)
    }

    fn is_full(&self) -> bool {
        self.backlog() > HIGH_WATER
    }

    fn is_stalled(&self, now: Duration) -> bool {
        now.saturating_sub(self.moved_at) > STALL_TIMEOUT
    }
}

fn is_passing(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn pair() -> (HubPort, UnixStream) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        (HubPort::new(ours, Duration::ZERO), theirs)
    }

    #[test]
    fn frames_split_anywhere_come_out_whole() {
        let (mut port, mut other) = pair();
        let mut wire = Vec::new();
        for length in [60_u32, 1, 9014] {
            wire.extend_from_slice(&length.to_be_bytes());
            wire.extend(std::iter::repeat_n(7, length as usize));
        }
        let mut seen = Vec::new();
        for chunk in wire.chunks(5) {
            other.write_all(chunk).unwrap();
            port.receive(|frame| seen.push(frame.len())).unwrap();
        }
        assert_eq!(seen, [60, 1, 9014]);
    }

    #[test]
    fn a_length_beyond_any_frame_closes_the_port() {
        let (mut port, mut other) = pair();
        other.write_all(&[0xff; 8]).unwrap();
        assert!(port.receive(|_| ()).is_err());
    }

    #[test]
    fn a_receiver_that_takes_nothing_holds_back_for_a_while_only() {
        let (mut port, _other) = pair();
        let frame = vec![0; 60_000];
        while !port.holds_back(Duration::ZERO) {
            assert!(port.queue(&frame, Duration::ZERO));
            port.flush(Duration::ZERO).unwrap();
        }
        let later = Duration::from_secs(1);
        assert!(!port.holds_back(later));
        assert!(!port.queue(&frame, later));
    }
}
