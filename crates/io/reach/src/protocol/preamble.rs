//! Lines behind a magic word, found among whatever else a login prints.

use thiserror::Error;

/// Starts each line that is meant for the controller; also in `connect/bootstrap.sh`.
pub const MAGIC: &str = "CROSSTIE-6b1f0d3a";

/// Most login noise that is read before the agent speaks.
pub const MAX_NOISE: usize = 1 << 20;

/// Longest line of ours.
const MAX_LINE: usize = 4096;

/// How much of the noise is kept, to be shown if nothing else came.
const KEPT_NOISE: usize = 2048;

/// What the bootstrap script and the agent say before the first frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PreambleLine {
    /// The script runs: kernel, architecture and user.
    System {
        kernel: String,
        machine: String,
        user: u32,
    },
    /// A shell waits for the script once more, as root.
    Again,
    /// sudo wants a password: is there one?
    Password,
    /// sudo said no.
    Refused { why: String },
    /// The binary is not there: send its size in a line, and then it.
    Need { compressed: bool },
    /// The binary is about to be run.
    Start,
    /// The script gave up.
    Failed { at: String, why: String },
    /// The agent runs; frames follow.
    Agent { build: String, version: String },
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum PreambleError {
    #[error("it printed more than {} KiB before the agent spoke", MAX_NOISE >> 10)]
    TooNoisy,
    #[error("it said something that only another build would: {0:?}")]
    Unknown(String),
}

/// Takes bytes as they come and gives our lines.
#[derive(Debug, Default)]
pub struct PreambleReader {
    buffer: Vec<u8>,
    /// In a line that is too long to be ours, whatever it holds.
    overlong: bool,
    read: usize,
    noise: Vec<u8>,
}

impl PreambleReader {
    pub fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    pub fn next_line(&mut self) -> Result<Option<PreambleLine>, PreambleError> {
        while let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.buffer.drain(..=end).collect();
            self.count(line.len())?;
            let overlong = std::mem::take(&mut self.overlong) || line.len() > MAX_LINE;
            match ours(&line) {
                Some(text) if !overlong => return parse(text).map(Some),
                _ => self.keep(&line),
            }
        }
        if self.buffer.len() >= MAX_LINE {
            let dropped = std::mem::take(&mut self.buffer);
            self.overlong = true;
            self.count(dropped.len())?;
            self.keep(&dropped);
        }
        Ok(None)
    }

    /// What came after the last line that was given out.
    pub fn into_rest(self) -> Vec<u8> {
        self.buffer
    }

    /// The end of what was printed beside our lines.
    pub fn noise(&self) -> String {
        let all = [self.noise.as_slice(), self.buffer.as_slice()].concat();
        let from = all.len().saturating_sub(KEPT_NOISE);
        String::from_utf8_lossy(&all[from..]).into_owned()
    }

    fn count(&mut self, bytes: usize) -> Result<(), PreambleError> {
        self.read += bytes;
        if self.read > MAX_NOISE {
            return Err(PreambleError::TooNoisy);
        }
        Ok(())
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.noise.extend_from_slice(bytes);
        let excess = self.noise.len().saturating_sub(KEPT_NOISE);
        self.noise.drain(..excess);
    }
}

fn ours(line: &[u8]) -> Option<&str> {
    let line = std::str::from_utf8(line).ok()?.strip_prefix(MAGIC)?;
    Some(line.strip_prefix(' ')?.trim_end())
}

fn parse(text: &str) -> Result<PreambleLine, PreambleError> {
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    let mut words = rest.split_whitespace().map(str::to_owned);
    let mut next = || words.next();
    let line = match word {
        "system" => (|| {
            Some(PreambleLine::System {
                kernel: next()?,
                machine: next()?,
                user: next()?.parse().ok()?,
            })
        })(),
        "again" => Some(PreambleLine::Again),
        "password" => Some(PreambleLine::Password),
        "refused" => Some(PreambleLine::Refused { why: rest.into() }),
        "need" => match rest {
            "gzip" => Some(PreambleLine::Need { compressed: true }),
            "plain" => Some(PreambleLine::Need { compressed: false }),
            _ => None,
        },
        "start" => Some(PreambleLine::Start),
        "failed" => {
            let (at, why) = rest.split_once(' ').unwrap_or((rest, ""));
            Some(PreambleLine::Failed {
                at: at.into(),
                why: why.trim().into(),
            })
        }
        "agent" => (|| {
            Some(PreambleLine::Agent {
                build: next()?,
                version: next()?,
            })
        })(),
        _ => None,
    };
    line.ok_or_else(|| PreambleError::Unknown(text.chars().take(80).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fed(bytes: &[u8]) -> PreambleReader {
        let mut preamble = PreambleReader::default();
        preamble.push(bytes);
        preamble
    }

    #[test]
    fn the_line_is_found_in_noise() {
        let noise = "Welcome!\n\u{1b}[1mno newline at the end";
        let text = format!("{noise}\n{MAGIC} agent 00ff 0.1.0\nframes");
        for cut in 1..text.len() {
            let mut preamble = PreambleReader::default();
            let mut found = None;
            for part in [&text.as_bytes()[..cut], &text.as_bytes()[cut..]] {
                preamble.push(part);
                if found.is_none() {
                    found = preamble.next_line().unwrap();
                }
            }
            let (build, version) = ("00ff".into(), "0.1.0".into());
            assert_eq!(found, Some(PreambleLine::Agent { build, version }));
            assert_eq!(preamble.into_rest(), b"frames");
        }
    }

    #[test]
    fn endless_noise_is_given_up() {
        for chunk in [&[b'x'; 1000][..], &b"hello\n".repeat(200)] {
            let mut preamble = PreambleReader::default();
            let ended = (0..=(MAX_NOISE / chunk.len()) + 10).find_map(|_| {
                preamble.push(chunk);
                preamble.next_line().err()
            });
            assert_eq!(ended, Some(PreambleError::TooNoisy));
            assert!(preamble.buffer.len() < 2 * MAX_LINE);
        }
    }

    #[test]
    fn lines_of_others_are_told_apart() {
        let line = |text: &str| fed(format!("{MAGIC} {text}\n").as_bytes()).next_line();
        let compressed = true;
        assert_eq!(
            line("need gzip"),
            Ok(Some(PreambleLine::Need { compressed }))
        );
        let (at, why) = ("write".into(), "No space left on device".into());
        let failed = line("failed write No space left on device ");
        assert_eq!(failed, Ok(Some(PreambleLine::Failed { at, why })));
        for odd in [
            "",
            "system",
            "system Linux x86_64 root",
            "agent 00",
            "need",
            "need zstd",
            "dance",
        ] {
            assert!(line(odd).is_err(), "{odd}");
        }
        assert_eq!(
            fed(format!("x{MAGIC} need gzip\n").as_bytes()).next_line(),
            Ok(None)
        );
        let mut preamble = fed(&[b'x'; MAX_LINE]);
        assert_eq!(preamble.next_line(), Ok(None));
        preamble.push(format!("{MAGIC} need gzip\n{MAGIC} start\n").as_bytes());
        assert_eq!(preamble.next_line(), Ok(Some(PreambleLine::Start)));
    }
}
