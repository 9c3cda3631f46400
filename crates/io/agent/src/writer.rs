//! The thread that writes.

use std::{io::Write, sync::Arc};

use crate::output::{Next, Output};

/// Ends when nobody reads any more; the reading side then sees the end of input.
pub(crate) fn write_frames(mut output: impl Write, lanes: &Arc<Output>) {
    loop {
        let next = lanes.next();
        let frame = match &next {
            Next::Frame(frame) | Next::Answer(frame) | Next::Chunk(_, frame) => frame,
            Next::Closed => return,
        };
        let written = output.write_all(frame).and_then(|()| output.flush());
        lanes.written(&next);
        if written.is_err() {
            lanes.close();
            return;
        }
    }
}
