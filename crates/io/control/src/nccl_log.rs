//! A log of NCCL's, read with or without the facts of the nodes that wrote it.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use crosstie_model::Facts;
use crosstie_nccl_log::{NcclLogReader, NcclLogReport};
use crosstie_node::capture::CaptureLoadError;

use crate::{FleetSnapshot, captured};

const CHUNK_BYTES: usize = 256 << 10;

#[derive(Debug, thiserror::Error)]
pub enum NcclLogError {
    #[error("cannot read the log from standard input")]
    StandardInput { source: io::Error },
    #[error("cannot read the log {}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("cannot use the capture {node}: {why}")]
    Capture { node: String, why: String },
    #[error(transparent)]
    Load(#[from] CaptureLoadError),
}

/// `-` is standard input.
pub fn read_log(path: &Path, captures: &[PathBuf]) -> Result<NcclLogReport, NcclLogError> {
    let facts = facts_of(captures)?;
    if path == Path::new("-") {
        let report = read(io::stdin().lock(), &facts);
        return report.map_err(|source| NcclLogError::StandardInput { source });
    }
    let report = File::open(path).and_then(|file| read(file, &facts));
    report.map_err(|source| NcclLogError::File {
        path: path.to_owned(),
        source,
    })
}

/// One that cannot be read is an error: it was asked for.
fn facts_of(captures: &[PathBuf]) -> Result<Vec<Facts>, NcclLogError> {
    let nodes = FleetSnapshot::parse(captured(captures)?).nodes;
    let facts = nodes.into_iter().map(|node| match node.facts {
        Ok(facts) => Ok((*facts).clone()),
        Err(error) => Err(NcclLogError::Capture {
            node: node.name,
            why: error.line(),
        }),
    });
    facts.collect()
}

fn read(mut log: impl Read, facts: &[Facts]) -> io::Result<NcclLogReport> {
    let mut reader = NcclLogReader::new();
    let mut piece = vec![0; CHUNK_BYTES];
    loop {
        match log.read(&mut piece) {
            Ok(0) => return Ok(reader.finish(facts)),
            Ok(length) => reader.feed(&piece[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}
