//! Passwords for ssh, which asks by running a program (`SSH_ASKPASS`).
//!
//! That program is this one. It passes ssh's question through a socket, in a folder that only the user can enter, to the
//! process that started ssh; which answers if it is the question that it expects, and once. A jump host, or a key with a
//! passphrase, asks another question and gets no answer.

use std::{
    ffi::OsString,
    fmt,
    io::{self, Read, Write},
    os::unix::net::{UnixListener, UnixStream},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    net::sockopt::socket_peercred,
    process::geteuid,
};

use crate::secret::SecretBytes;

/// Names the socket to the program that ssh runs.
pub const SOCKET: &str = "CROSSTIE_ASKPASS_SOCKET";

const MAX_QUESTION: u64 = 1024;

/// A person may have to be asked.
const PROMPT_TIMEOUT: Duration = Duration::from_secs(150);

/// How often a server looks whether it is still wanted.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The two questions that ssh asks for a password (`sshconnect2.c`), each at most once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedPrompts {
    pub user: String,
    /// What ssh calls the host: the alias of its key.
    pub alias: String,
}

impl ExpectedPrompts {
    pub fn is(&self, question: &str) -> bool {
        let Self { user, alias } = self;
        let by_password = format!("{user:.30}@{alias:.128}'s password: ");
        let interactive = format!("({user}@{alias}) ");
        question == by_password
            || question
                .strip_prefix(&interactive)
                .is_some_and(|rest| rest.trim().eq_ignore_ascii_case("password:"))
    }
}

/// Answers until dropped.
pub struct AskpassServer {
    ended: Arc<AtomicBool>,
    /// A password was given to ssh.
    answered: Arc<AtomicBool>,
}

impl fmt::Debug for AskpassServer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Server")
    }
}

impl AskpassServer {
    pub fn start(
        socket: &Path,
        expected: ExpectedPrompts,
        secret: impl Fn() -> Option<Arc<SecretBytes>> + Send + 'static,
    ) -> io::Result<Self> {
        let listener = UnixListener::bind(socket)?;
        listener.set_nonblocking(true)?;
        let (ended, answered) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicBool::new(false)),
        );
        let server = Self {
            ended: Arc::clone(&ended),
            answered: Arc::clone(&answered),
        };
        thread::Builder::new().spawn(move || {
            let mut asked = Vec::new();
            while !ended.load(Ordering::SeqCst) {
                let mut waited = [PollFd::new(&listener, PollFlags::IN)];
                let tick = Timespec::try_from(POLL_INTERVAL).ok();
                if poll(&mut waited, tick.as_ref()).is_err() {
                    continue;
                }
                let Ok((mut stream, _)) = listener.accept() else {
                    continue;
                };
                let question = question(&mut stream).unwrap_or_default();
                if !expected.is(&question) || asked.contains(&question) {
                    continue;
                }
                asked.push(question);
                if let Some(secret) = secret() {
                    answered.store(true, Ordering::SeqCst);
                    let _ = stream.write_all(secret.line().bytes());
                }
            }
        })?;
        Ok(server)
    }

    /// ssh had a password, so if it was not let in, it was the wrong one.
    pub fn answered(&self) -> bool {
        self.answered.load(Ordering::SeqCst)
    }
}

impl Drop for AskpassServer {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
    }
}

/// From a process of the same user only.
fn question(stream: &mut UnixStream) -> io::Result<String> {
    if socket_peercred(&*stream)?.uid != geteuid() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    stream.set_write_timeout(Some(Duration::from_secs(5)))?;
    let mut text = String::new();
    stream.take(MAX_QUESTION).read_to_string(&mut text)?;
    Ok(text)
}

/// Where ssh runs this program to ask for a password, it is nothing else: answers, and says whether there was one. A
/// refusal makes ssh go on to the next way to log in.
pub fn answer_ssh() -> Option<bool> {
    let socket = std::env::var_os(SOCKET)?;
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let [question] = arguments.as_slice() else {
        return None;
    };
    let answer = ask(socket.as_ref(), &question.to_string_lossy()).unwrap_or_default();
    let said = io::stdout().write_all(&answer);
    Some(!answer.is_empty() && said.is_ok())
}

/// The answer, for standard output. Nothing means no.
fn ask(socket: &Path, question: &str) -> io::Result<Vec<u8>> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(PROMPT_TIMEOUT))?;
    stream.write_all(question.as_bytes())?;
    stream.shutdown(std::net::Shutdown::Write)?;
    let mut answer = Vec::new();
    stream.take(MAX_QUESTION).read_to_end(&mut answer)?;
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::{PasswordPurpose, PasswordSource, SharedPassword};
    use crosstie_node::scratch_folder::ScratchFolder;

    fn expected() -> ExpectedPrompts {
        ExpectedPrompts {
            user: "alice".to_owned(),
            alias: "spark-b".to_owned(),
        }
    }

    #[test]
    fn only_the_node_itself_is_answered() {
        for question in ["alice@spark-b's password: ", "(alice@spark-b) Password: "] {
            assert!(expected().is(question), "{question}");
        }
        for question in [
            "alice@jump's password: ",
            "bob@spark-b's password: ",
            "(alice@jump) Password: ",
            "(alice@spark-b) New password: ",
            "Enter passphrase for key '/home/alice/.ssh/id_ed25519': ",
            "Are you sure you want to continue connecting (yes/no/[fingerprint])? ",
            "",
        ] {
            assert!(!expected().is(question), "{question}");
        }
    }

    #[test]
    fn a_question_is_answered_once() {
        use std::os::fd::AsRawFd;
        let scratch = ScratchFolder::new().unwrap();
        let socket = scratch.path().join("socket");
        let (reader, mut writer) = io::pipe().unwrap();
        writer.write_all(b"correct horse\n").unwrap();
        let descriptor = u32::try_from(reader.as_raw_fd()).unwrap();
        let password = SharedPassword::new(
            PasswordSource::Descriptor(descriptor),
            PasswordPurpose::Logins,
        );
        let server =
            AskpassServer::start(&socket, expected(), move || password.get().ok()).unwrap();
        assert_eq!(ask(&socket, "bob@spark-b's password: ").unwrap(), b"");
        assert!(!server.answered());
        let question = "alice@spark-b's password: ";
        assert_eq!(ask(&socket, question).unwrap(), b"correct horse\n");
        assert!(server.answered());
        assert_eq!(ask(&socket, question).unwrap(), b"");
        let path = scratch.path().to_owned();
        drop(scratch);
        assert!(!path.exists());
    }
}
