//! The hub's control socket: one JSON request a line, one JSON answer a line.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::forward::FrameForwarder;
use super::{AttachmentFaults, CableFault, FaultDirection, HubError, LostFrames};
use crate::socket;

const REPLY_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Request {
    Add {
        attachment: String,
        fault: CableFault,
        way: FaultDirection,
    },
    Clear {
        attachment: Option<String>,
    },
    Status,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Answer {
    Done,
    Status(HubStatus),
    Refused(String),
}

/// The faults of every attachment that has one, and the frames lost to faults since the start.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct HubStatus {
    pub faults: BTreeMap<String, AttachmentFaults>,
    pub lost: u64,
    /// Of every attachment that lost any.
    #[serde(default)]
    pub lost_at: BTreeMap<String, LostFrames>,
}

pub(super) fn answer(fabric: &mut FrameForwarder, line: &str) -> String {
    let answer = match serde_json::from_str(line) {
        Ok(request) => act(fabric, request),
        Err(error) => Answer::Refused(error.to_string()),
    };
    let mut text = serde_json::to_string(&answer).unwrap_or_default();
    text.push('\n');
    text
}

fn act(fabric: &mut FrameForwarder, request: Request) -> Answer {
    match request {
        Request::Add {
            attachment,
            fault,
            way,
        } => match fabric.faults_mut(&attachment) {
            Some(faults) => {
                faults.add(fault, way);
                Answer::Done
            }
            None => Answer::Refused(format!("nothing is attached as {attachment}")),
        },
        Request::Clear {
            attachment: Some(attachment),
        } => match fabric.faults_mut(&attachment) {
            Some(faults) => {
                *faults = AttachmentFaults::default();
                Answer::Done
            }
            None => Answer::Refused(format!("nothing is attached as {attachment}")),
        },
        Request::Clear { attachment: None } => {
            fabric.clear_faults();
            Answer::Done
        }
        Request::Status => Answer::Status(HubStatus {
            faults: fabric
                .faults()
                .filter(|(_, faults)| !faults.none())
                .map(|(name, faults)| (name.to_owned(), *faults))
                .collect(),
            lost: fabric
                .lost()
                .map(|(_, lost)| lost.sent + lost.received)
                .sum(),
            lost_at: fabric
                .lost()
                .filter(|(_, lost)| *lost != LostFrames::default())
                .map(|(name, lost)| (name.to_owned(), lost))
                .collect(),
        }),
    }
}

/// The hub, as seen by the commands.
#[derive(Debug)]
pub struct HubClient {
    path: PathBuf,
}

impl HubClient {
    pub fn new(directory: &Path, socket: &str) -> Self {
        Self {
            path: directory.join(socket),
        }
    }

    pub fn add(
        &self,
        attachment: &str,
        fault: CableFault,
        way: FaultDirection,
    ) -> Result<(), HubError> {
        self.done(&Request::Add {
            attachment: attachment.to_owned(),
            fault,
            way,
        })
    }

    /// Takes the faults of one attachment away, or all.
    pub fn clear(&self, attachment: Option<&str>) -> Result<(), HubError> {
        self.done(&Request::Clear {
            attachment: attachment.map(str::to_owned),
        })
    }

    pub fn status(&self) -> Result<HubStatus, HubError> {
        match self.ask(&Request::Status)? {
            Answer::Status(status) => Ok(status),
            other => Err(unexpected(&other)),
        }
    }

    fn done(&self, request: &Request) -> Result<(), HubError> {
        match self.ask(request)? {
            Answer::Done => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    fn ask(&self, request: &Request) -> Result<Answer, HubError> {
        let line = self.exchange(request).map_err(|source| HubError::Silent {
            path: self.path.display().to_string(),
            source,
        })?;
        match serde_json::from_str(&line) {
            Ok(Answer::Refused(reason)) => Err(HubError::Refused { reason }),
            Ok(answer) => Ok(answer),
            Err(_) => Err(HubError::Answer { answer: line }),
        }
    }

    fn exchange(&self, request: &Request) -> std::io::Result<String> {
        let mut stream: UnixStream = socket::connect(&self.path)?;
        stream.set_read_timeout(Some(REPLY_TIMEOUT))?;
        stream.set_write_timeout(Some(REPLY_TIMEOUT))?;
        let mut text = serde_json::to_string(request)?;
        text.push('\n');
        stream.write_all(text.as_bytes())?;
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line)?;
        Ok(line)
    }
}

fn unexpected(answer: &Answer) -> HubError {
    HubError::Answer {
        answer: format!("{answer:?}"),
    }
}
