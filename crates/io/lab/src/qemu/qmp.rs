//! QEMU's machine protocol: one JSON object a line.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use thiserror::Error;

use crate::socket;

const POLL_INTERVAL: Duration = Duration::from_millis(50);
const REPLY_TIMEOUT: Duration = Duration::from_secs(20);
/// Writing a node's memory to a slow disk.
const SNAPSHOT_TIMEOUT: Duration = Duration::from_secs(180);

#[derive(Debug, Error)]
pub enum QmpError {
    #[error("QEMU's monitor at {path} does not answer")]
    Silent {
        path: String,
        #[source]
        source: std::io::Error,
    },
    #[error("QEMU refused \"{command}\": {reason}")]
    Refused { command: String, reason: String },
}

/// What the machine does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MachineRunState {
    Running,
    Stopped,
}

#[derive(Debug)]
pub(crate) struct QmpClient {
    path: String,
    reader: BufReader<UnixStream>,
}

impl QmpClient {
    /// Connects once the socket is there, at the latest at the deadline.
    pub(crate) fn connect(path: &Path, deadline: Duration) -> Result<Self, QmpError> {
        let started = Instant::now();
        loop {
            match Self::greet(path) {
                Ok(qmp) => return Ok(qmp),
                Err(source) if started.elapsed() > deadline => {
                    return Err(QmpError::Silent {
                        path: path.display().to_string(),
                        source,
                    });
                }
                Err(_) => std::thread::sleep(POLL_INTERVAL),
            }
        }
    }

    fn greet(path: &Path) -> std::io::Result<Self> {
        let stream = socket::connect(path)?;
        stream.set_read_timeout(Some(REPLY_TIMEOUT))?;
        stream.set_write_timeout(Some(REPLY_TIMEOUT))?;
        let mut qmp = Self {
            path: path.display().to_string(),
            reader: BufReader::new(stream),
        };
        qmp.read_line()?;
        qmp.exchange(&json!({"execute": "qmp_capabilities"}))?;
        Ok(qmp)
    }

    pub(crate) fn state(&mut self) -> Result<MachineRunState, QmpError> {
        let answer = self.execute("query-status", json!({}))?;
        Ok(match answer["running"].as_bool() {
            Some(true) => MachineRunState::Running,
            _ => MachineRunState::Stopped,
        })
    }

    pub(crate) fn resume(&mut self) -> Result<(), QmpError> {
        self.execute("cont", json!({})).map(drop)
    }

    pub(crate) fn stop(&mut self) -> Result<(), QmpError> {
        self.execute("stop", json!({})).map(drop)
    }

    /// The carrier of a NIC.
    pub(crate) fn set_link(&mut self, interface: &str, up: bool) -> Result<(), QmpError> {
        self.execute(
            "set_link",
            json!({"name": format!("nic-{interface}"), "up": up}),
        )
        .map(drop)
    }

    pub(crate) fn save(&mut self, snapshot: &str) -> Result<(), QmpError> {
        self.human(&format!("savevm {snapshot}"))
    }

    pub(crate) fn load(&mut self, snapshot: &str) -> Result<(), QmpError> {
        self.human(&format!("loadvm {snapshot}"))
    }

    /// A command of the human monitor answers with text; any text is a complaint.
    fn human(&mut self, line: &str) -> Result<(), QmpError> {
        let _ = self
            .reader
            .get_ref()
            .set_read_timeout(Some(SNAPSHOT_TIMEOUT));
        let answer = self.execute("human-monitor-command", json!({"command-line": line}))?;
        match answer.as_str().map(str::trim) {
            None | Some("") => Ok(()),
            Some(text) => Err(QmpError::Refused {
                command: line.to_owned(),
                reason: text.to_owned(),
            }),
        }
    }

    fn execute(&mut self, command: &str, arguments: Value) -> Result<Value, QmpError> {
        let mut request = json!({"execute": command});
        if arguments.as_object().is_some_and(|map| !map.is_empty()) {
            request["arguments"] = arguments;
        }
        let mut answer = self.exchange(&request).map_err(|source| QmpError::Silent {
            path: self.path.clone(),
            source,
        })?;
        match answer.get("error") {
            Some(error) => Err(QmpError::Refused {
                command: command.to_owned(),
                reason: error["desc"]
                    .as_str()
                    .unwrap_or("no reason given")
                    .to_owned(),
            }),
            None => Ok(answer["return"].take()),
        }
    }

    fn exchange(&mut self, request: &Value) -> std::io::Result<Value> {
        let mut line = request.to_string();
        line.push('\n');
        self.reader.get_mut().write_all(line.as_bytes())?;
        loop {
            let answer = self.read_line()?;
            // Events come in between.
            if answer.get("return").is_some() || answer.get("error").is_some() {
                return Ok(answer);
            }
        }
    }

    fn read_line(&mut self) -> std::io::Result<Value> {
        let mut line = String::new();
        if self.reader.read_line(&mut line)? == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        Ok(serde_json::from_str(&line)?)
    }
}
