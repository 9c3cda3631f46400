//! Sessions with nodes: by our own key where it is there already, else as the user's configuration says, else by password.

use std::{
    collections::BTreeSet,
    io,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crosstie_agent::{HomeLeaseRequest, InProcessSession, NodeCalls, open};
use crosstie_reach::{
    ConnectError, ConnectOptions, NodeRoute, NodeStage, Session,
    askpass::{AskpassServer, ExpectedPrompts},
    binary::AgentBinaries,
    secret::{PasswordError, PasswordPurpose, PasswordSource, SharedPassword},
    ssh::{AskpassRelay, SshLogin},
};

use super::{TrustNode, TrustOptions, host_keys::PinnedRoute};
use crate::{COLLECT_TIMEOUT, FleetRound, NodeError, PROMPT_TIMEOUT};

const LEASE_END_TIMEOUT: Duration = Duration::from_secs(5);

/// What all logins have in common.
pub(super) struct LoginOptions {
    binaries: AgentBinaries,
    program: PathBuf,
    source: PasswordSource,
    /// Our private key.
    identity: PathBuf,
    /// It was there before this run, so nodes may know it.
    known: bool,
    deadline: Duration,
    pub(super) answer: Duration,
    pub(super) round: Arc<FleetRound>,
    /// This command, for the nodes that it is at work on.
    run: String,
    /// Each keeps others away from its node until the end.
    leases: Mutex<Vec<Box<dyn Session>>>,
    /// Nodes, by their place in the command line, that were told to change something: whatever became of it, they may have.
    told_to_change: Mutex<BTreeSet<usize>>,
}

/// Why a visit failed.
#[derive(Debug, Clone, thiserror::Error)]
pub(super) enum TrustVisitError {
    #[error("it did not accept the password")]
    WrongPassword,
    #[error(
        "the key is in ~/.ssh/authorized_keys there, and sshd does not take it: look at AuthorizedKeysFile, \
         PubkeyAuthentication and AllowUsers in its sshd_config (sudo sshd -T)"
    )]
    KeyNotTaken,
    #[error(transparent)]
    NoPassword(PasswordError),
    #[error("it takes no key of yours and asks for no password ({offered})")]
    NoLogin { offered: String },
    #[error(transparent)]
    Askpass(Arc<io::Error>),
    #[error("it made no key")]
    NoKey,
    #[error("{}", .0.line())]
    Node(NodeError),
}

impl<E: Into<NodeError>> From<E> for TrustVisitError {
    fn from(error: E) -> Self {
        Self::Node(error.into())
    }
}

impl LoginOptions {
    /// `known`: our key was there before this run.
    pub(super) fn new(
        options: &TrustOptions,
        identity: PathBuf,
        known: bool,
        run: &str,
        round: Arc<FleetRound>,
    ) -> io::Result<Self> {
        let (limit, source) = (options.fleet.timeout, options.password.clone());
        Ok(Self {
            binaries: AgentBinaries::new(options.fleet.agent_dir.clone()),
            program: std::env::current_exe()?,
            identity,
            known,
            // A person may have to type a password meanwhile.
            deadline: if source.needs_typing() {
                limit.max(PROMPT_TIMEOUT)
            } else {
                limit
            },
            source,
            answer: limit.min(COLLECT_TIMEOUT),
            round,
            run: run.to_owned(),
            leases: Mutex::default(),
            told_to_change: Mutex::default(),
        })
    }

    /// From now on nobody else changes this node's logins, until the session is handed to [`LoginOptions::keep`] and this value
    /// goes, or the session ends.
    pub(super) fn lease(&self, index: usize, session: &dyn Session) -> Result<(), TrustVisitError> {
        let progress = |stage| self.round.stage(index, stage);
        let run = self.run.clone();
        Ok(session.home_lease(&HomeLeaseRequest::Take { run }, self.answer, &progress)?)
    }

    pub(super) fn keep(&self, session: Box<dyn Session>) {
        self.leases().push(session);
    }

    /// To be told before the node is.
    pub(super) fn note_told_to_change(&self, index: usize) {
        self.told_to_change().insert(index);
    }

    pub(super) fn was_told_to_change(&self, index: usize) -> bool {
        self.told_to_change().contains(&index)
    }

    fn told_to_change(&self) -> MutexGuard<'_, BTreeSet<usize>> {
        self.told_to_change
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn leases(&self) -> MutexGuard<'_, Vec<Box<dyn Session>>> {
        self.leases.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For the work on one node, beyond what each of its steps may take.
    pub(super) fn last(&self) -> Duration {
        2 * (self.deadline + self.answer) + PROMPT_TIMEOUT
    }

    pub(super) fn password(&self) -> Arc<SharedPassword> {
        Arc::new(SharedPassword::new(
            self.source.clone(),
            PasswordPurpose::Logins,
        ))
    }

    /// Another password for one node, where there is somebody to ask.
    pub(super) fn another_password(&self, node: &TrustNode) -> Option<Arc<SharedPassword>> {
        let purpose = PasswordPurpose::Login(node.label.clone());
        let password = || Arc::new(SharedPassword::new(self.source.clone(), purpose));
        self.source.needs_typing().then(password)
    }

    /// By our own key and nothing else: proof that it is taken.
    pub(super) fn by_key(
        &self,
        index: usize,
        node: &TrustNode,
        route: Option<&PinnedRoute>,
    ) -> Result<Box<dyn Session>, TrustVisitError> {
        match route {
            Some(route) => self
                .connect(
                    index,
                    node,
                    route,
                    SshLogin::Identity(self.identity.clone()),
                )
                .map_err(|error| match error {
                    ConnectError::Denied { .. } => TrustVisitError::KeyNotTaken,
                    error => error.into(),
                }),
            None => Ok(Box::new(InProcessSession::default())),
        }
    }

    pub(super) fn log_in_by_any_means(
        &self,
        index: usize,
        node: &TrustNode,
        route: Option<&PinnedRoute>,
        password: &Arc<SharedPassword>,
    ) -> Result<Box<dyn Session>, TrustVisitError> {
        let Some(route) = route else {
            return Ok(Box::new(InProcessSession::default()));
        };
        if self.known {
            match self.connect(
                index,
                node,
                route,
                SshLogin::Identity(self.identity.clone()),
            ) {
                Err(ConnectError::Denied { .. }) => {}
                result => return Ok(result?),
            }
        }
        let refusal = Arc::new(Mutex::new(None));
        let socket = route.folder.join("askpass");
        let expected = ExpectedPrompts {
            user: route.resolved.user.clone(),
            alias: route.pin.alias.clone(),
        };
        let (asked, said) = (Arc::clone(password), Arc::clone(&refusal));
        let round = Arc::clone(&self.round);
        let secret = move || {
            round.stage(index, NodeStage::Asking);
            let secret = asked.get();
            round.stage(index, NodeStage::Connecting);
            let error = secret.as_ref().err().cloned();
            *said.lock().unwrap_or_else(PoisonError::into_inner) = error;
            secret.ok()
        };
        let _ = std::fs::remove_file(&socket);
        let server = AskpassServer::start(&socket, expected, secret);
        let server = server.map_err(|error| TrustVisitError::Askpass(error.into()))?;
        let program = self.program.clone();
        let login = SshLogin::Askpass(AskpassRelay { program, socket });
        self.connect(index, node, route, login).map_err(|error| {
            let refusal = refusal
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take();
            match error {
                ConnectError::Denied { .. } if server.answered() => TrustVisitError::WrongPassword,
                ConnectError::Denied { offered, .. } => refusal.map_or(
                    TrustVisitError::NoLogin { offered },
                    TrustVisitError::NoPassword,
                ),
                error => error.into(),
            }
        })
    }

    /// As soon as nothing is left to change, and not only when the connections are gone.
    pub(super) fn end_leases(&self) {
        let sessions = std::mem::take(&mut *self.leases());
        for session in &sessions {
            self.end_lease(session.as_ref());
        }
    }

    /// Where it is not heard, the end of the session says the same.
    pub(super) fn end_lease(&self, session: &dyn Session) {
        let timeout = self.answer.min(LEASE_END_TIMEOUT);
        let _ = session.home_lease(&HomeLeaseRequest::Release, timeout, &|_| ());
    }

    fn connect(
        &self,
        index: usize,
        node: &TrustNode,
        route: &PinnedRoute,
        login: SshLogin,
    ) -> Result<Box<dyn Session>, ConnectError> {
        let progress = |stage| self.round.stage(index, stage);
        let wanted = ConnectOptions {
            binaries: &self.binaries,
            root: None,
            deadline: self.deadline,
            progress: &progress,
        };
        let mut options = node.options();
        options.pin = Some(route.pin.clone());
        options.login = login;
        let route = match &node.destination {
            None => NodeRoute::Here,
            Some(destination) => NodeRoute::Ssh {
                destination: destination.clone(),
                options,
            },
        };
        open(&route, &wanted)
    }
}
