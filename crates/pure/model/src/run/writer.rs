//! A run as text, line by line.

use thiserror::Error;

use super::{
    FORMAT, LostNode, MAX_LINE_BYTES, Measurement, MeasurementOutcome, RunEnd, RunEndReason,
    RunHeader, RunLimitError, RunRecord, limits, limits::MAX_TEXT, seal::SealChain,
};

#[derive(Debug, Error)]
pub enum WriteRunError {
    #[error("the run cannot be stored")]
    Limit(#[from] RunLimitError),
    #[error("the run cannot be stored as JSON")]
    Json(#[from] serde_json::Error),
    #[error("the run cannot be stored: a line of {bytes} bytes, and {MAX_LINE_BYTES} are allowed")]
    Line { bytes: usize },
}

/// Makes the lines of one run. Each is to be appended with one write before the next is asked for; what is on disk is a
/// run then, however it ends.
///
/// A line is `{"seal":"…","run":{…}}`; the seal is a digest of the line's record and of the seal before it.
#[derive(Debug)]
pub struct RunWriter {
    chain: SealChain,
}

impl RunWriter {
    /// The writer, and the first line.
    pub fn new(header: RunHeader) -> Result<(Self, String), WriteRunError> {
        let mut writer = Self {
            chain: SealChain::default(),
        };
        let header = RunHeader {
            format: FORMAT,
            ..header
        };
        let line = writer.line(&RunRecord::Header(header))?;
        Ok((writer, line))
    }

    /// Long texts, which are a node's, are cut: one of them must not cost the run.
    pub fn measurement(&mut self, measurement: Measurement) -> Result<String, WriteRunError> {
        let mut measurement = measurement;
        match &mut measurement.outcome {
            MeasurementOutcome::Failed { error: text }
            | MeasurementOutcome::NotApplicable { reason: text } => cut(text),
            MeasurementOutcome::Measured(_) => {}
        }
        measurement.doubts.iter_mut().for_each(cut);
        self.line(&RunRecord::Measurement(Box::new(measurement)))
    }

    pub fn lost(&mut self, lost: LostNode) -> Result<String, WriteRunError> {
        let mut lost = lost;
        cut(&mut lost.why);
        self.line(&RunRecord::Lost(lost))
    }

    pub fn end(mut self, end: RunEnd) -> Result<String, WriteRunError> {
        let mut end = end;
        if let RunEndReason::Failed { error } = &mut end.reason {
            cut(error);
        }
        self.line(&RunRecord::End(end))
    }

    fn line(&mut self, record: &RunRecord) -> Result<String, WriteRunError> {
        limits::check(record)?;
        let json = serde_json::to_string(record)?;
        if json.len() >= MAX_LINE_BYTES {
            return Err(WriteRunError::Line { bytes: json.len() });
        }
        Ok(self.chain.seal(&json))
    }
}

fn cut(text: &mut String) {
    if let Some((end, _)) = text.char_indices().nth(MAX_TEXT) {
        text.truncate(end);
    }
}
