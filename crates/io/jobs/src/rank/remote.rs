//! What mpirun calls in place of ssh: a command for another node goes to the head, which sends it to that node's rank. So no
//! node needs to log in to another, and what is started there is in the job's unit.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    os::unix::net::{UnixListener, UnixStream},
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
    time::Duration,
};

use serde::{Deserialize, Serialize};

use super::{FOLDER_VARIABLE, events::RankEvent};
use crate::folder::START_SOCKET;

const MAX_REQUEST: u64 = 256 << 10;
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Serialize, Deserialize)]
struct Request {
    host: String,
    command: String,
}

#[derive(Debug, thiserror::Error)]
pub enum RankShellError {
    #[error(
        "this is started by programs of a job, which have {FOLDER_VARIABLE} in their environment"
    )]
    NoJob,
    #[error("no command was given")]
    NoCommand,
    #[error("the job's head does not answer at {}", path.display())]
    Head { path: PathBuf, source: io::Error },
}

/// Runs a command on another node of the job, and gives its exit status.
pub fn run_on_peer(host: &str, command: &[String]) -> Result<u8, RankShellError> {
    let folder = std::env::var_os(FOLDER_VARIABLE).ok_or(RankShellError::NoJob)?;
    let path = Path::new(&folder).join(START_SOCKET);
    if command.is_empty() {
        return Err(RankShellError::NoCommand);
    }
    let asked = request_command(&path, host, &command.join(" "));
    asked.map_err(|source| RankShellError::Head { path, source })
}

/// Waits for as long as the command runs, which is as long as the job does at most: the head ends with it.
fn request_command(path: &Path, host: &str, command: &str) -> io::Result<u8> {
    let mut stream = UnixStream::connect(path)?;
    let mut line = serde_json::to_vec(&Request {
        host: host.to_owned(),
        command: command.to_owned(),
    })?;
    line.push(b'\n');
    stream.write_all(&line)?;
    let mut answer = String::new();
    stream.take(16).read_to_string(&mut answer)?;
    let code: Option<i32> = answer.trim().parse().ok();
    let code = code.ok_or(io::ErrorKind::UnexpectedEof)?;
    Ok(u8::try_from(code).unwrap_or(255))
}

/// The folder is the user's alone, so nobody else can ask.
pub(super) fn listen(folder: &Path, events: mpsc::Sender<RankEvent>) -> io::Result<()> {
    let listener = UnixListener::bind(folder.join(START_SOCKET))?;
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            match read(&stream) {
                Ok(Request { host, command }) => {
                    let wanted = RankEvent::Wanted {
                        host,
                        command,
                        asker: stream,
                    };
                    if events.send(wanted).is_err() {
                        return;
                    }
                }
                Err(error) => tracing::warn!(%error, "a program of the job asks for nothing"),
            }
        }
    });
    Ok(())
}

fn read(stream: &UnixStream) -> io::Result<Request> {
    stream.set_read_timeout(Some(REQUEST_TIMEOUT))?;
    let mut line = String::new();
    BufReader::new(stream)
        .take(MAX_REQUEST)
        .read_line(&mut line)?;
    Ok(serde_json::from_str(&line)?)
}
