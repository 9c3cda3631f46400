//! The conversation with the script that starts an agent.

use std::{process::Command, sync::Arc, time::Instant};

use super::{
    ConnectError, LoginCommands, Stage, Wanted,
    failure::{self, Phase},
};
use crate::{
    binary::Binary,
    link::{Group, Heard, Link, LinkError},
    protocol::{Line, Preamble},
    remote::Remote,
    secret::Password,
};

const SCRIPT: &str = include_str!("bootstrap.sh");

/// What sudo prints on standard error each time it wants a password; also in the script.
const PROMPT: &str = "CROSSTIE-6b1f0d3a-password";

/// How much of the binary is sent between two words about it.
const PART: usize = 1 << 20;

/// A connection on its way to an agent.
pub(super) struct Bootstrap<'a> {
    login: &'a LoginCommands,
    link: Link,
    wanted: &'a Wanted<'a>,
    preamble: Preamble,
    phase: Phase,
    binary: Option<Arc<Binary>>,
    /// The one that must answer.
    build: String,
    without_root_too: bool,
    pushed: bool,
    refusal: Option<String>,
    until: Instant,
}

enum Stop {
    Link(LinkError),
    Failed(ConnectError),
}

impl From<LinkError> for Stop {
    fn from(error: LinkError) -> Self {
        Self::Link(error)
    }
}

impl From<ConnectError> for Stop {
    fn from(error: ConnectError) -> Self {
        Self::Failed(error)
    }
}

impl<'a> Bootstrap<'a> {
    pub(super) fn start(
        login: &'a LoginCommands,
        command: Command,
        group: Group,
        wanted: &'a Wanted<'a>,
    ) -> Result<Self, ConnectError> {
        (wanted.progress)(Stage::Connecting);
        let program = command.get_program().to_string_lossy().into_owned();
        let link = Link::spawn(command, group);
        Ok(Self {
            login,
            link: link.map_err(|source| ConnectError::Spawn { program, source })?,
            wanted,
            preamble: Preamble::default(),
            phase: Phase::Login,
            binary: None,
            build: String::new(),
            without_root_too: true,
            pushed: false,
            refusal: None,
            until: Instant::now() + wanted.deadline,
        })
    }

    /// With a shell at the other end.
    pub(super) fn by_script(mut self, without_root_too: bool) -> Result<Remote, ConnectError> {
        self.without_root_too = without_root_too;
        let result = self.say(SCRIPT.as_bytes()).and_then(|()| self.converse());
        self.finish(result)
    }

    /// With an agent at the other end.
    pub(super) fn of_build(mut self, build: String) -> Result<Remote, ConnectError> {
        self.phase = Phase::Start;
        self.build = build;
        let result = self.converse();
        self.finish(result)
    }

    fn finish(mut self, result: Result<(), Stop>) -> Result<Remote, ConnectError> {
        match result {
            Err(Stop::Failed(error)) => Err(error),
            Err(Stop::Link(error)) => Err(self.explain(error)),
            Ok(()) => Remote::new(
                self.login.node(),
                self.link,
                &self.preamble.into_rest(),
                self.refusal,
            )
            .map_err(|error| ConnectError::Link(error.into())),
        }
    }

    fn converse(&mut self) -> Result<(), Stop> {
        loop {
            match self.next_line()? {
                Line::System {
                    kernel,
                    machine,
                    user,
                } => self.system(&kernel, &machine, user)?,
                Line::Again => self.say(SCRIPT.as_bytes())?,
                Line::Password => self.password()?,
                Line::Refused { why } => self.refuse(why)?,
                Line::Need { compressed } => self.push(compressed)?,
                Line::Start => {
                    self.phase = Phase::Start;
                    (self.wanted.progress)(Stage::Starting);
                }
                Line::Failed { at, why } => return Err(failure::of_script(&at, &why).into()),
                Line::Agent { build, version } => return self.agent(build, &version),
            }
        }
    }

    fn next_line(&mut self) -> Result<Line, Stop> {
        loop {
            let line = self.preamble.next_line().map_err(ConnectError::Preamble)?;
            if let Some(line) = line {
                return Ok(line);
            }
            match self.link.hear(self.until)? {
                Heard::Output(bytes) => self.preamble.push(&bytes),
                Heard::Other => {}
                Heard::End => return Err(LinkError::Ended.into()),
            }
        }
    }

    /// A node that stops listening may have said why.
    fn say(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        match self.link.say(bytes, self.until) {
            Ok(()) | Err(LinkError::Ended) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn system(&mut self, kernel: &str, machine: &str, user: u32) -> Result<(), Stop> {
        if kernel != "Linux" {
            let kernel = kernel.to_owned();
            return Err(ConnectError::Kernel { kernel }.into());
        }
        let binary = self.wanted.binaries.for_machine(machine);
        let binary = binary.map_err(ConnectError::Binary)?;
        let privilege = match (self.wanted.root, user) {
            (None, _) => "user",
            (Some(_), 0) => "root",
            (Some(_), _) => "sudo",
        };
        self.phase = Phase::Prepare;
        let words = format!("{privilege} {}\n", binary.sum);
        self.build.clone_from(&binary.sum);
        self.binary = Some(binary);
        self.say(words.as_bytes())
    }

    fn refuse(&mut self, why: String) -> Result<(), Stop> {
        if self.without_root_too {
            self.refusal = Some(why);
            return Ok(());
        }
        Err(ConnectError::Sudo { why }.into())
    }

    /// Time that a person takes to type is not the node's.
    fn password(&mut self) -> Result<(), Stop> {
        let asked = Instant::now();
        (self.wanted.progress)(Stage::Asking);
        let password = self.wanted.root.map(Password::get);
        (self.wanted.progress)(Stage::Starting);
        self.until += asked.elapsed();
        let secret = match password {
            Some(Ok(secret)) => secret,
            Some(Err(error)) => {
                self.refuse(error.to_string())?;
                return self.say(b"no\n");
            }
            None => return self.say(b"no\n"),
        };
        self.phase = Phase::Sudo;
        self.say(b"yes\n")?;
        let mut sent = false;
        loop {
            let prompts = self.link.complaint().matches(PROMPT).count();
            if prompts > 1 {
                let why = failure::WRONG_PASSWORD.to_owned();
                return Err(ConnectError::Sudo { why }.into());
            }
            if prompts == 1 && !sent {
                sent = true;
                self.say(secret.line().bytes())?;
            }
            let line = self.preamble.next_line().map_err(ConnectError::Preamble)?;
            match line {
                Some(Line::Again) => return self.say(SCRIPT.as_bytes()),
                Some(_) => return Err(LinkError::Ended.into()),
                None => {}
            }
            match self.link.hear(self.until)? {
                Heard::Output(bytes) => self.preamble.push(&bytes),
                Heard::Other => {}
                Heard::End => return Err(LinkError::Ended.into()),
            }
        }
    }

    /// Once. As long as it moves, a slow network is given time.
    fn push(&mut self, compressed: bool) -> Result<(), Stop> {
        let again = std::mem::replace(&mut self.pushed, true);
        let Some(binary) = self.binary.clone().filter(|_| !again) else {
            let why = "it was asked for at the wrong time".to_owned();
            return Err(ConnectError::Damaged { why }.into());
        };
        let bytes = if compressed {
            binary.compressed()
        } else {
            &binary.bytes
        };
        let total = bytes.len();
        self.say(format!("{total}\n").as_bytes())?;
        for (index, part) in bytes.chunks(PART).enumerate() {
            let done = index * PART;
            (self.wanted.progress)(Stage::Copying { done, total });
            self.until = Instant::now() + self.wanted.deadline;
            self.say(part)?;
        }
        Ok(())
    }

    fn agent(&mut self, build: String, version: &str) -> Result<(), Stop> {
        if self.build != build {
            return Err(ConnectError::OtherBuild { build }.into());
        }
        let ours = env!("CARGO_PKG_VERSION");
        if version != ours {
            let version = version.to_owned();
            return Err(ConnectError::OtherVersion { version }.into());
        }
        Ok(())
    }

    fn explain(&mut self, error: LinkError) -> ConnectError {
        match error {
            LinkError::Ended => {
                let status = self.link.finish();
                let complaint = self.link.complaint();
                failure::of_end(
                    self.login,
                    self.phase,
                    status,
                    &complaint,
                    &self.preamble.noise(),
                )
            }
            LinkError::Deadline if self.phase == Phase::Sudo => ConnectError::Sudo {
                why: "sudo asked for something else than a password, or did not answer".to_owned(),
            },
            LinkError::Deadline => ConnectError::Deadline {
                after: self.wanted.deadline,
                phase: self.phase.name(),
            },
            error @ (LinkError::Pipe(_) | LinkError::Interrupted) => ConnectError::Link(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::MAGIC;

    #[test]
    fn the_script_speaks_our_words() {
        assert!(SCRIPT.contains(&format!("{MAGIC} %s")));
        assert!(SCRIPT.contains(&format!("{MAGIC} again")));
        assert!(SCRIPT.contains(PROMPT));
        // It must fit into a pipe: a node may take its time to read it.
        assert!(SCRIPT.len() < 16 << 10);
        assert!(!SCRIPT.contains('\0') && SCRIPT.is_ascii());
    }
}
