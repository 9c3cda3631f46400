//! What a rank printed.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    thread,
    time::Duration,
};

use crosstie_launch::job_protocol::{JobCallError, JobLogRequest, LogStream, RankPhase};
use serde::{Deserialize, Serialize};

use crate::{
    folder::{ANSWER, JobFolder, LOG, open_file},
    system, unit,
};

/// Looked back through at most, for its last lines.
const MAX_TAIL_BYTES: u64 = 1 << 20;
const POLL_INTERVAL: Duration = Duration::from_millis(250);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum JobLogError {
    #[error("there is no job {0} here")]
    NoJob(String),
    #[error(transparent)]
    Failed(#[from] JobCallError),
}

/// Its last lines and, where that is asked for, what follows until the rank has ended. `send` fails where nobody listens any
/// more.
pub fn follow<E>(
    ask: &JobLogRequest,
    is_stopped: impl Fn() -> bool,
    mut send: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), JobLogError> {
    let folder = JobFolder::all()?;
    let folder = folder.into_iter().find(|folder| folder.job == ask.job);
    let folder = folder.ok_or_else(|| JobLogError::NoJob(ask.job.clone()))?;
    let name = match ask.stream {
        LogStream::All => LOG,
        LogStream::Answer => ANSWER,
    };
    let failed = |error| JobLogError::Failed(system("read the job's log")(error));
    let mut file: Option<File> = None;
    let mut buffer = vec![0; 64 << 10];
    loop {
        // Before the last look at the log, so that nothing is missed.
        let is_over = is_over(&folder);
        if file.is_none() {
            file = match open_file(&folder.file(name)) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                opened => Some(at_last_lines(opened.map_err(failed)?, ask.lines).map_err(failed)?),
            };
        }
        while let Some(file) = &mut file {
            let length = file.read(&mut buffer).map_err(failed)?;
            if length == 0 {
                break;
            }
            if send(&buffer[..length]).is_err() {
                return Ok(());
            }
        }
        if !ask.follow || is_over || is_stopped() {
            return Ok(());
        }
        thread::sleep(POLL_INTERVAL);
    }
}

fn is_over(folder: &JobFolder) -> bool {
    match folder.state() {
        Some(state) if state.phase == RankPhase::Ended => true,
        // Killed before it could say so.
        _ => unit::show(folder).is_ok_and(|unit| unit.is_over()),
    }
}

fn at_last_lines(mut file: File, lines: u32) -> io::Result<File> {
    let size = file.metadata()?.len();
    let start = size.saturating_sub(MAX_TAIL_BYTES);
    file.seek(SeekFrom::Start(start))?;
    let mut tail = Vec::new();
    file.by_ref().take(MAX_TAIL_BYTES).read_to_end(&mut tail)?;
    let back = last_lines(&tail, lines);
    file.seek(SeekFrom::Start(start + back as u64))?;
    Ok(file)
}

/// Where so many last lines begin.
fn last_lines(text: &[u8], lines: u32) -> usize {
    let body = text.strip_suffix(b"\n").unwrap_or(text);
    let mut ends = (0..body.len()).rev().filter(|at| body[*at] == b'\n');
    match lines {
        0 => text.len(),
        lines => ends.nth(lines as usize - 1).map_or(0, |at| at + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_whole() {
        let text = b"one\ntwo\nthree\n";
        let from = |lines| &text[last_lines(text, lines)..];
        assert_eq!(from(1), b"three\n");
        assert_eq!(from(2), b"two\nthree\n");
        assert_eq!(from(9), text);
        assert_eq!(from(0), b"");
        assert_eq!(last_lines(b"a\nb", 1), 2);
    }
}
