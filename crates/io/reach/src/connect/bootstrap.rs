//! The conversation with the script that starts an agent.

use std::{process::Command, sync::Arc, time::Instant};

use super::{
    ConnectError, ConnectOptions, LoginCommands, NodeStage,
    failure::{self, ConnectPhase},
};
use crate::{
    agent_pipe::{AgentPipe, AgentPipeError, ChildProcessGroup, PipeInput},
    binary::AgentBinary,
    protocol::{PreambleLine, PreambleReader},
    remote_session::RemoteSession,
    secret::SharedPassword,
};

const SCRIPT: &str = include_str!("bootstrap.sh");

/// What sudo prints on standard error each time it wants a password; also in the script.
const PROMPT: &str = "CROSSTIE-6b1f0d3a-password";

/// How much of the binary is sent between two words about it.
const PART: usize = 1 << 20;

/// A connection on its way to an agent.
pub(super) struct Bootstrap<'a> {
    login: &'a LoginCommands,
    link: AgentPipe,
    wanted: &'a ConnectOptions<'a>,
    preamble: PreambleReader,
    phase: ConnectPhase,
    binary: Option<Arc<AgentBinary>>,
    /// The one that must answer.
    build: String,
    without_root_too: bool,
    pushed: bool,
    refusal: Option<String>,
    until: Instant,
}

enum Stop {
    Link(AgentPipeError),
    Failed(ConnectError),
}

impl From<AgentPipeError> for Stop {
    fn from(error: AgentPipeError) -> Self {
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
        group: ChildProcessGroup,
        wanted: &'a ConnectOptions<'a>,
    ) -> Result<Self, ConnectError> {
        (wanted.progress)(NodeStage::Connecting);
        let program = command.get_program().to_string_lossy().into_owned();
        let link = AgentPipe::spawn(command, group);
        Ok(Self {
            login,
            link: link.map_err(|source| ConnectError::Spawn { program, source })?,
            wanted,
            preamble: PreambleReader::default(),
            phase: ConnectPhase::Login,
            binary: None,
            build: String::new(),
            without_root_too: true,
            pushed: false,
            refusal: None,
            until: Instant::now() + wanted.deadline,
        })
    }

    /// With a shell at the other end.
    pub(super) fn by_script(
        mut self,
        without_root_too: bool,
    ) -> Result<RemoteSession, ConnectError> {
        self.without_root_too = without_root_too;
        let result = self
            .say(SCRIPT.as_bytes())
            .and_then(|()| self.run_dialogue());
        self.finish(result)
    }

    /// With an agent at the other end.
    pub(super) fn of_build(mut self, build: String) -> Result<RemoteSession, ConnectError> {
        self.phase = ConnectPhase::Start;
        self.build = build;
        let result = self.run_dialogue();
        self.finish(result)
    }

    fn finish(mut self, result: Result<(), Stop>) -> Result<RemoteSession, ConnectError> {
        match result {
            Err(Stop::Failed(error)) => Err(error),
            Err(Stop::Link(error)) => Err(self.explain(error)),
            Ok(()) => RemoteSession::new(
                self.login.node(),
                self.link,
                &self.preamble.into_rest(),
                self.refusal,
            )
            .map_err(|error| ConnectError::Link(error.into())),
        }
    }

    fn run_dialogue(&mut self) -> Result<(), Stop> {
        loop {
            match self.next_line()? {
                PreambleLine::System {
                    kernel,
                    machine,
                    user,
                } => self.system(&kernel, &machine, user)?,
                PreambleLine::Again => self.say(SCRIPT.as_bytes())?,
                PreambleLine::Password => self.password()?,
                PreambleLine::Refused { why } => self.refuse(why)?,
                PreambleLine::Need { compressed } => self.push(compressed)?,
                PreambleLine::Start => {
                    self.phase = ConnectPhase::Start;
                    (self.wanted.progress)(NodeStage::Starting);
                }
                PreambleLine::Failed { at, why } => {
                    return Err(failure::of_script(&at, &why).into());
                }
                PreambleLine::Agent { build, version } => return self.agent(build, &version),
            }
        }
    }

    fn next_line(&mut self) -> Result<PreambleLine, Stop> {
        loop {
            let line = self.preamble.next_line().map_err(ConnectError::Preamble)?;
            if let Some(line) = line {
                return Ok(line);
            }
            match self.link.hear(self.until)? {
                PipeInput::Output(bytes) => self.preamble.push(&bytes),
                PipeInput::Other => {}
                PipeInput::End => return Err(AgentPipeError::Ended.into()),
            }
        }
    }

    /// A node that stops listening may have said why.
    fn say(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        match self.link.say(bytes, self.until) {
            Ok(()) | Err(AgentPipeError::Ended) => Ok(()),
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
        self.phase = ConnectPhase::Prepare;
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
        (self.wanted.progress)(NodeStage::Asking);
        let password = self.wanted.root.map(SharedPassword::get);
        (self.wanted.progress)(NodeStage::Starting);
        self.until += asked.elapsed();
        let secret = match password {
            Some(Ok(secret)) => secret,
            Some(Err(error)) => {
                self.refuse(error.to_string())?;
                return self.say(b"no\n");
            }
            None => return self.say(b"no\n"),
        };
        self.phase = ConnectPhase::Sudo;
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
                Some(PreambleLine::Again) => return self.say(SCRIPT.as_bytes()),
                Some(_) => return Err(AgentPipeError::Ended.into()),
                None => {}
            }
            match self.link.hear(self.until)? {
                PipeInput::Output(bytes) => self.preamble.push(&bytes),
                PipeInput::Other => {}
                PipeInput::End => return Err(AgentPipeError::Ended.into()),
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
            (self.wanted.progress)(NodeStage::Copying { done, total });
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

    fn explain(&mut self, error: AgentPipeError) -> ConnectError {
        match error {
            AgentPipeError::Ended => {
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
            AgentPipeError::Deadline if self.phase == ConnectPhase::Sudo => ConnectError::Sudo {
                why: "sudo asked for something else than a password, or did not answer".to_owned(),
            },
            AgentPipeError::Deadline => ConnectError::Deadline {
                after: self.wanted.deadline,
                phase: self.phase.name(),
            },
            error @ (AgentPipeError::Pipe(_) | AgentPipeError::Interrupted) => {
                ConnectError::Link(error)
            }
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
