//! One stream's receiver: what it has read is what counts.

use std::{
    io::{ErrorKind, Read, Write},
    net::TcpStream,
    sync::atomic::Ordering,
    time::Instant,
};

use crosstie_figures::{BandwidthMeter, MeasuredBandwidth, nanoseconds};

use crate::{
    bandwidth::{MEASURED, MEASURING, OVER, STREAM_TIMEOUT, SharedTestState, WARMING_UP},
    buffer::PageBuffer,
    clock,
    error::TcpRunError,
};

pub(crate) struct StreamReceiver<'a> {
    pub(crate) shared: &'a SharedTestState<'a>,
    pub(crate) stream: &'a TcpStream,
}

/// From the first byte on.
struct Counting {
    meter: BandwidthMeter,
    begin: u64,
    last: u64,
    phase: u8,
}

impl StreamReceiver<'_> {
    pub(crate) fn run(self) -> Result<MeasuredBandwidth, TcpRunError> {
        let mut stream = self.stream;
        let failed = |error| self.shared.error(error);
        for set in [TcpStream::set_read_timeout, TcpStream::set_write_timeout] {
            set(stream, Some(STREAM_TIMEOUT)).map_err(failed)?;
        }
        let silence = nanoseconds(self.shared.request.times.silence);
        let mut buffer = PageBuffer::new(self.shared.request.size as usize);
        let mut heard = clock::now();
        let mut counting = Counting::new(self.shared, heard);
        let (mut is_first, mut whole_bytes) = (true, 0);
        while counting.phase < OVER && !self.shared.is_stopped() {
            let length = match stream.read(&mut buffer) {
                Ok(0) => {
                    let peer = self.shared.peer;
                    return Err(TcpRunError::Closed { peer });
                }
                Ok(length) => length as u64,
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => {
                        if clock::now() - heard > silence {
                            return Err(self.shared.silent());
                        }
                        continue;
                    }
                    _ => return Err(failed(error)),
                },
            };
            heard = clock::now();
            if is_first {
                is_first = false;
                let started = *self.shared.started.get_or_init(|| heard);
                counting = Counting::new(self.shared, started);
            }
            whole_bytes += length;
            self.shared.received.fetch_add(length, Ordering::Relaxed);
            if let Some(phase) = counting.add(heard, length) {
                // A sender that is gone shows at the next read.
                let _ = stream.write_all(&[phase]);
            }
        }
        if counting.phase < OVER {
            let _ = stream.write_all(&[OVER]);
        }
        let size = self.shared.request.size;
        let figures = counting.meter.figures(size, 1, clock::processor_time);
        whole_bytes += self.drain(&mut buffer);
        Ok(MeasuredBandwidth {
            whole_bytes,
            // Of a stream there are none.
            messages: 0,
            ..figures
        })
    }

    /// What is on the way, up to the sender's end: a stream that is closed with bytes unread looks like a failure there.
    fn drain(&self, buffer: &mut [u8]) -> u64 {
        let mut bytes = 0;
        let mut stream = self.stream;
        let until = Instant::now() + self.shared.request.times.silence();
        while Instant::now() < until {
            match stream.read(buffer) {
                Ok(0) => break,
                Ok(length) => bytes += length as u64,
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => {
                        if self.shared.is_stopped() {
                            break;
                        }
                    }
                    _ => break,
                },
            }
        }
        bytes
    }
}

impl Counting {
    fn new(shared: &SharedTestState<'_>, started: u64) -> Self {
        let times = shared.request.times;
        let begin = started + nanoseconds(times.warm_up);
        let end = begin + nanoseconds(times.measure);
        Self {
            meter: BandwidthMeter::new(started, begin, end, clock::processor_time()),
            begin,
            last: end + nanoseconds(times.cool_down),
            phase: WARMING_UP,
        }
    }

    /// The phase, if this has entered one.
    fn add(&mut self, now: u64, bytes: u64) -> Option<u8> {
        self.meter.add(now, bytes, clock::processor_time);
        let phase = match self.meter.is_done() {
            true if now >= self.last => OVER,
            true => MEASURED,
            false if now >= self.begin => MEASURING,
            false => WARMING_UP,
        };
        (phase > self.phase).then(|| {
            self.phase = phase;
            phase
        })
    }
}
