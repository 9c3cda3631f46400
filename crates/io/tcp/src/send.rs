//! One stream's sender.

use std::{
    io::{ErrorKind, Write},
    net::{Shutdown, TcpStream},
    sync::atomic::{AtomicU8, Ordering},
    time::Instant,
};

use crate::{
    bandwidth::{MEASURED, MEASURING, OVER, STREAM_TIMEOUT, SharedTestState},
    buffer::PageBuffer,
    clock,
    error::TcpRunError,
    figures::SendCost,
};

pub(crate) struct StreamSender<'a> {
    pub(crate) shared: &'a SharedTestState<'a>,
    pub(crate) stream: &'a TcpStream,
    /// Where its receiver is.
    pub(crate) phase: &'a AtomicU8,
}

impl StreamSender<'_> {
    pub(crate) fn run(self) -> Result<SendCost, TcpRunError> {
        let failed = |error| self.shared.error(error);
        let mut stream = self.stream;
        stream
            .set_write_timeout(Some(STREAM_TIMEOUT))
            .map_err(failed)?;
        let silence = self.shared.request.times.silence();
        let block = block(self.shared.request.size);
        let (mut bytes, mut offset) = (0, 0);
        // Processor time when the measurement began, and when it ended.
        let mut marks = [None, None];
        let mut moved = Instant::now();
        loop {
            let phase = self.phase.load(Ordering::Relaxed);
            if phase >= MEASURING && marks[0].is_none() {
                marks[0] = Some(clock::processor_time());
            }
            if phase >= MEASURED && marks[1].is_none() {
                marks[1] = Some(clock::processor_time());
            }
            if phase >= OVER || self.shared.is_stopped() {
                break;
            }
            match stream.write(&block[offset..]) {
                Ok(length) => {
                    bytes += length as u64;
                    offset = (offset + length) % block.len();
                    // Blocks are large: the clock costs nothing beside them.
                    moved = Instant::now();
                }
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock | ErrorKind::TimedOut if moved.elapsed() >= silence => {
                        return Err(self.shared.silent());
                    }
                    ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted => {}
                    // The receiver ends first; it may say so after it has gone.
                    _ if self.phase.load(Ordering::Relaxed) >= OVER => break,
                    _ => return Err(failed(error)),
                },
            }
        }
        // The receiver reads up to here.
        let _ = stream.shutdown(Shutdown::Write);
        let end = marks[1].unwrap_or_else(clock::processor_time);
        Ok(SendCost {
            bytes,
            processor_nanoseconds: marks[0].map_or(0, |begin| end - begin),
        })
    }
}

/// Of bytes that no link compresses away.
fn block(size: u32) -> PageBuffer {
    let mut state = 0x9e37_79b9_u32;
    let mut block = PageBuffer::new(size as usize);
    for byte in block.iter_mut() {
        // xorshift32 (Marsaglia 2003).
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        *byte = state.to_le_bytes()[0];
    }
    block
}
