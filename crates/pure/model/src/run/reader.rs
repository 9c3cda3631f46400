//! A run from text.

use std::collections::HashSet;

use serde::Deserialize;
use thiserror::Error;

use super::{
    FORMAT, MAX_FILE_BYTES, MAX_LINE_BYTES, RunLimitError, RunRecord, StoredRun, limits,
    seal::{BrokenSeal, SealChain},
};

#[derive(Debug, Error)]
pub enum ReadRunError {
    #[error("not a run of Crosstie's")]
    Foreign,
    #[error("nothing is in it: the run was cut off before its first line was written")]
    Empty,
    #[error("the run has format {found}; this build reads format {FORMAT}")]
    Format { found: u64 },
    #[error("line {line} is not as it was written: the file was changed or damaged")]
    Changed { line: usize },
    #[error(
        "line {line}: records of the kind '{kind}' are not known to this build; a newer one wrote it"
    )]
    UnknownRecord { line: usize, kind: String },
    #[error("line {line} is sealed and is not a record of a run")]
    Malformed {
        line: usize,
        #[source]
        source: serde_json::Error,
    },
    #[error("line {line}: a {kind} does not belong there")]
    OutOfPlace { line: usize, kind: &'static str },
    #[error("line {line}: '{host}' is none of the run's nodes")]
    UnknownNode { line: usize, host: String },
    #[error("line {line}")]
    Limit {
        line: usize,
        #[source]
        source: RunLimitError,
    },
    #[error("{bytes} bytes are more than a run may have ({most})")]
    TooLarge { bytes: usize, most: usize },
}

/// What every header of every format has.
#[derive(Deserialize)]
struct Preamble {
    record: String,
    format: Option<u64>,
}

const KINDS: [&str; 4] = ["header", "measurement", "lost", "end"];

/// A last line without its end was being written when the run was cut off: it is left out.
pub fn read(text: &str) -> Result<StoredRun, ReadRunError> {
    bounded(text.len(), MAX_FILE_BYTES)?;
    let mut chain = SealChain::default();
    let mut run: Option<StoredRun> = None;
    let mut hosts = HashSet::new();
    let mut torn = false;
    for (line, text) in (1..).zip(text.split_inclusive('\n')) {
        let Some(text) = text.strip_suffix('\n') else {
            // Zeroes are what a power cut leaves of a block.
            let is_ended = run.as_ref().is_some_and(|run| run.end.is_some());
            if is_ended && text.bytes().any(|byte| byte != 0) {
                return Err(ReadRunError::Changed { line });
            }
            torn = true;
            break;
        };
        bounded(text.len(), MAX_LINE_BYTES + 64)?;
        let json = chain.open(text).map_err(|broken| match broken {
            BrokenSeal::NotSealed if line == 1 => ReadRunError::Foreign,
            BrokenSeal::NotSealed | BrokenSeal::Differs => ReadRunError::Changed { line },
        })?;
        let record = record(line, json)?;
        match (&mut run, record) {
            (None, RunRecord::Header(header)) => {
                hosts = header.nodes.iter().map(|node| node.host.clone()).collect();
                let mut ends = header.groups.iter().flatten();
                if let Some(end) = ends.find(|end| !hosts.contains(&end.host)) {
                    let host = end.host.clone();
                    return Err(ReadRunError::UnknownNode { line, host });
                }
                run = Some(StoredRun::new(header));
            }
            (Some(run), record) if run.end.is_none() => add(run, &hosts, line, record)?,
            (_, record) => {
                let kind = kind(&record);
                return Err(ReadRunError::OutOfPlace { line, kind });
            }
        }
    }
    match run {
        Some(run) => Ok(StoredRun { torn, ..run }),
        None if text.is_empty() => Err(ReadRunError::Empty),
        // Half a header is still told from somebody else's file.
        None if text.starts_with(r#"{"seal":""#) => Err(ReadRunError::Empty),
        None => Err(ReadRunError::Foreign),
    }
}

fn add(
    run: &mut StoredRun,
    hosts: &HashSet<String>,
    line: usize,
    record: RunRecord,
) -> Result<(), ReadRunError> {
    let known = |host: &String| {
        let host = host.clone();
        if hosts.contains(&host) {
            Ok(())
        } else {
            Err(ReadRunError::UnknownNode { line, host })
        }
    };
    match record {
        RunRecord::Measurement(measurement) => {
            known(&measurement.from.host)?;
            known(&measurement.to.host)?;
            run.measurements.push(*measurement);
        }
        RunRecord::Lost(lost) => {
            known(&lost.host)?;
            run.lost.push(lost);
        }
        RunRecord::End(end) => run.end = Some(end),
        RunRecord::Header(_) => {
            return Err(ReadRunError::OutOfPlace {
                line,
                kind: "header",
            });
        }
    }
    Ok(())
}

fn record(line: usize, json: &str) -> Result<RunRecord, ReadRunError> {
    let malformed = |source| ReadRunError::Malformed { line, source };
    // Only the first line needs it: a header of another format may not parse as ours.
    if line == 1 {
        let preamble: Preamble = serde_json::from_str(json).map_err(malformed)?;
        match preamble.format {
            Some(found) if found != u64::from(FORMAT) => {
                return Err(ReadRunError::Format { found });
            }
            _ => {}
        }
    }
    let record: RunRecord = serde_json::from_str(json).map_err(|source| {
        let preamble: Option<Preamble> = serde_json::from_str(json).ok();
        match preamble {
            Some(Preamble { record: kind, .. }) if !KINDS.contains(&kind.as_str()) => {
                let kind = kind.chars().take(40).collect();
                ReadRunError::UnknownRecord { line, kind }
            }
            _ => malformed(source),
        }
    })?;
    limits::check(&record).map_err(|source| ReadRunError::Limit { line, source })?;
    Ok(record)
}

fn kind(record: &RunRecord) -> &'static str {
    match record {
        RunRecord::Header(_) => "header",
        RunRecord::Measurement(_) => "measurement",
        RunRecord::Lost(_) => "lost node",
        RunRecord::End(_) => "end",
    }
}

fn bounded(bytes: usize, most: usize) -> Result<(), ReadRunError> {
    if bytes > most {
        return Err(ReadRunError::TooLarge { bytes, most });
    }
    Ok(())
}
