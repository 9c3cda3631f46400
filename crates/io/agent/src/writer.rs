//! The thread that writes.

use std::{io::Write, sync::Arc};

use crate::output::{AgentOutput, NextFrame};

/// Ends when nobody reads any more; the reading side then sees the end of input.
pub(crate) fn write_frames(mut output: impl Write, lanes: &Arc<AgentOutput>) {
    loop {
        let next = lanes.next();
        let frame = match &next {
            NextFrame::Frame(frame) | NextFrame::Answer(frame) | NextFrame::Chunk(_, frame) => {
                frame
            }
            NextFrame::Closed => return,
        };
        let written = output.write_all(frame).and_then(|()| output.flush());
        lanes.written(&next);
        if written.is_err() {
            lanes.close();
            return;
        }
    }
}
