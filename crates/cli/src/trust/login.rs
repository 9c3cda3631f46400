//! Sessions with nodes: by our own key where it is there already, else as the user's configuration says, else by password.

use std::{
    io::{self, IsTerminal},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use crosstie_agent::{InProcess, open};
use crosstie_reach::{
    ConnectError, Route, Session, Stage, Wanted,
    askpass::{Expected, Server},
    binary::Binaries,
    secret::{Password, Purpose, Source},
    ssh::{Asked, Login},
};

use super::{Node, TrustArgs, host_keys::Way};
use crate::{
    nodes::{COLLECT, PERSON},
    progress::Progress,
};

/// What all logins have in common.
pub(super) struct Logins {
    binaries: Binaries,
    program: PathBuf,
    source: Source,
    /// Our private key.
    identity: PathBuf,
    /// It was there before this run, so nodes may know it.
    known: bool,
    deadline: Duration,
    pub(super) answer: Duration,
    pub(super) progress: Arc<Progress>,
}

/// Who answers questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asking {
    Person,
    Nobody,
}

#[derive(Debug, Clone)]
pub(super) enum Trouble {
    WrongPassword,
    Other(String),
}

impl Trouble {
    pub(super) fn other(error: impl Into<anyhow::Error>) -> Self {
        Self::Other(format!("{:#}", error.into()))
    }
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::WrongPassword => formatter.write_str("it did not accept the password"),
            Self::Other(error) => formatter.write_str(error),
        }
    }
}

impl Logins {
    pub(super) fn new(
        args: &TrustArgs,
        asking: Asking,
        identity: PathBuf,
        known: bool,
        progress: Arc<Progress>,
    ) -> io::Result<Self> {
        let limit = Duration::from_secs(args.ways.timeout.into());
        let source = match args.password_fd {
            Some(descriptor) => Source::Descriptor(descriptor),
            None if asking == Asking::Person && io::stderr().is_terminal() => Source::Terminal,
            None => Source::Nobody,
        };
        Ok(Self {
            binaries: Binaries::new(args.ways.agent_dir.clone()),
            program: std::env::current_exe()?,
            source,
            identity,
            known,
            // A person may have to type a password meanwhile.
            deadline: if source == Source::Terminal {
                limit.max(PERSON)
            } else {
                limit
            },
            answer: limit.min(COLLECT),
            progress,
        })
    }

    /// For the work on one node, beyond what each of its steps may take.
    pub(super) fn last(&self) -> Duration {
        2 * (self.deadline + self.answer) + PERSON
    }

    pub(super) fn password(&self) -> Arc<Password> {
        Arc::new(Password::new(self.source, Purpose::Logins))
    }

    /// Another password for one node, where there is somebody to ask.
    pub(super) fn another_password(&self, node: &Node) -> Option<Arc<Password>> {
        let purpose = Purpose::Login(node.label.clone());
        (self.source == Source::Terminal).then(|| Arc::new(Password::new(self.source, purpose)))
    }

    /// By our own key and nothing else: proof that it is taken.
    pub(super) fn by_key(
        &self,
        index: usize,
        node: &Node,
        way: Option<&Way>,
    ) -> Result<Box<dyn Session>, Trouble> {
        match way {
            Some(way) => self
                .connect(index, node, way, Login::Identity(self.identity.clone()))
                .map_err(|error| match error {
                    ConnectError::Denied { .. } => Trouble::Other(
                        "the key is in ~/.ssh/authorized_keys there, and sshd does not take it: look at AuthorizedKeysFile, \
                         PubkeyAuthentication and AllowUsers in its sshd_config (sudo sshd -T)"
                            .to_owned(),
                    ),
                    error => Trouble::other(error),
                }),
            None => Ok(Box::new(InProcess::default())),
        }
    }

    pub(super) fn by_any(
        &self,
        index: usize,
        node: &Node,
        way: Option<&Way>,
        password: &Arc<Password>,
    ) -> Result<Box<dyn Session>, Trouble> {
        let Some(way) = way else {
            return Ok(Box::new(InProcess::default()));
        };
        if self.known {
            match self.connect(index, node, way, Login::Identity(self.identity.clone())) {
                Err(ConnectError::Denied { .. }) => {}
                result => return result.map_err(Trouble::other),
            }
        }
        let refusal = Arc::new(Mutex::new(None));
        let socket = way.folder.join("askpass");
        let expected = Expected {
            user: way.resolved.user.clone(),
            alias: way.pin.alias.clone(),
        };
        let (asked, said, progress) = (
            Arc::clone(password),
            Arc::clone(&refusal),
            Arc::clone(&self.progress),
        );
        let secret = move || {
            progress.stage(index, Stage::Asking);
            let secret = asked.get();
            progress.stage(index, Stage::Connecting);
            let error = secret.as_ref().err().map(ToString::to_string);
            *said.lock().unwrap_or_else(PoisonError::into_inner) = error;
            secret.ok()
        };
        let _ = std::fs::remove_file(&socket);
        let server = Server::start(&socket, expected, secret).map_err(Trouble::other)?;
        let program = self.program.clone();
        let login = Login::Askpass(Asked { program, socket });
        self.connect(index, node, way, login).map_err(|error| {
            let refusal = refusal
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
            match error {
                ConnectError::Denied { .. } if server.answered() => Trouble::WrongPassword,
                ConnectError::Denied { offered, .. } => {
                    Trouble::Other(refusal.unwrap_or_else(|| {
                        format!("it takes no key of yours and asks for no password ({offered})")
                    }))
                }
                error => Trouble::other(error),
            }
        })
    }

    fn connect(
        &self,
        index: usize,
        node: &Node,
        way: &Way,
        login: Login,
    ) -> Result<Box<dyn Session>, ConnectError> {
        let progress = |stage| self.progress.stage(index, stage);
        let wanted = Wanted {
            binaries: &self.binaries,
            root: None,
            deadline: self.deadline,
            progress: &progress,
        };
        let mut options = node.options();
        options.pin = Some(way.pin.clone());
        options.login = login;
        let route = match &node.destination {
            None => Route::Here,
            Some(destination) => Route::Ssh {
                destination: destination.clone(),
                options,
            },
        };
        open(&route, &wanted)
    }
}
