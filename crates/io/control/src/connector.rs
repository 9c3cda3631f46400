//! Where sessions with one node come from.

use std::{
    sync::{Arc, Mutex, atomic::AtomicBool},
    time::Duration,
};

use crosstie_agent::open;
use crosstie_reach::{
    ConnectError, ConnectOptions, NodeRoute, NodeStage, Session,
    binary::AgentBinaries,
    secret::SharedPassword,
    ssh::{SshDestinationError, SshLogin, SshOptions},
};

use crate::{FleetOptions, NodeError, RunningLab};

/// A network namespace of this machine, as `ip netns` names it, is a node, too: for tests without a second machine.
pub(crate) const NAMESPACE_PREFIX: &str = "netns:";

/// For ssh to get a first word from a node.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

pub trait Connector: Send + Sync {
    /// As the person called the node.
    fn name(&self) -> &str;

    /// The session that is open, or a new one.
    fn session(&self, progress: &dyn Fn(NodeStage)) -> Result<Box<dyn Session>, NodeError>;

    /// Over a connection that is opened now and shared with nobody.
    fn fresh(
        &self,
        within: Duration,
        progress: &dyn Fn(NodeStage),
    ) -> Result<Box<dyn Session>, NodeError>;

    /// For the next one who needs a session.
    fn keep(&self, session: Box<dyn Session>);
}

/// One node.
pub(crate) struct NodeSlot {
    pub(crate) name: String,
    pub(crate) route: NodeRoute,
    pub(crate) session: Mutex<Option<Box<dyn Session>>>,
    /// It is not asked any more.
    pub(crate) given_up: AtomicBool,
}

/// What all nodes have in common.
pub(crate) struct ConnectionSettings {
    pub(crate) binaries: AgentBinaries,
    pub(crate) password: Option<Arc<SharedPassword>>,
    /// ssh may ask on the terminal.
    pub(crate) prompts: bool,
    pub(crate) labs: Vec<RunningLab>,
    /// Up to the agent's first word.
    pub(crate) login: Duration,
    pub(crate) answer: Duration,
}

impl ConnectionSettings {
    pub(crate) fn open(
        &self,
        route: &NodeRoute,
        deadline: Duration,
        progress: &dyn Fn(NodeStage),
    ) -> Result<Box<dyn Session>, NodeError> {
        let wanted = ConnectOptions {
            binaries: &self.binaries,
            root: self.password.as_deref(),
            deadline,
            progress,
        };
        Ok(open(route, &wanted).map_err(|error| with_labs(error, route, &self.labs))?)
    }
}

/// A name that nobody knows may be that of a lab's node.
fn with_labs(error: ConnectError, route: &NodeRoute, labs: &[RunningLab]) -> ConnectError {
    let NodeRoute::Ssh { destination, .. } = route else {
        return error;
    };
    if !matches!(error, ConnectError::Unresolved { .. }) {
        return error;
    }
    let name = destination.as_str();
    let labs = labs
        .iter()
        .filter(|lab| lab.nodes.iter().any(|node| node == name));
    ConnectError::Unresolved {
        labs: labs.map(|lab| lab.name.clone()).collect(),
    }
}

/// To a node of a fleet.
pub(crate) struct FleetConnector {
    slot: Arc<NodeSlot>,
    shared: Arc<ConnectionSettings>,
}

impl FleetConnector {
    pub(crate) fn new(slot: &Arc<NodeSlot>, shared: &Arc<ConnectionSettings>) -> Self {
        Self {
            slot: Arc::clone(slot),
            shared: Arc::clone(shared),
        }
    }
}

impl Connector for FleetConnector {
    fn name(&self) -> &str {
        &self.slot.name
    }

    fn session(&self, progress: &dyn Fn(NodeStage)) -> Result<Box<dyn Session>, NodeError> {
        let open = self.slot.session.try_lock().ok();
        match open.and_then(|mut session| session.take()) {
            Some(session) => Ok(session),
            None => self.fresh(self.shared.login, progress),
        }
    }

    fn fresh(
        &self,
        within: Duration,
        progress: &dyn Fn(NodeStage),
    ) -> Result<Box<dyn Session>, NodeError> {
        progress(NodeStage::Connecting);
        self.shared.open(&self.slot.route.alone(), within, progress)
    }

    fn keep(&self, session: Box<dyn Session>) {
        if let Ok(mut slot) = self.slot.session.try_lock() {
            *slot = Some(session);
        }
    }
}

/// Why there is no way to a node.
#[derive(Debug, thiserror::Error)]
pub enum NodeRouteError {
    #[error(transparent)]
    Destination(#[from] SshDestinationError),
    #[error("{0}: only `crosstie bench` takes a network namespace for a node")]
    Namespace(String),
}

pub(crate) fn route(
    name: &str,
    options: &FleetOptions,
    prompts: bool,
) -> Result<NodeRoute, NodeRouteError> {
    if name == "." {
        return Ok(NodeRoute::Here);
    }
    if let Some(namespace) = name.strip_prefix(NAMESPACE_PREFIX) {
        if !options.namespaces {
            return Err(NodeRouteError::Namespace(name.to_owned()));
        }
        let is_plain = !namespace.is_empty()
            && !namespace.starts_with(['-', '.'])
            && !namespace.contains(|c: char| c == '/' || c.is_control() || c.is_whitespace());
        if !is_plain {
            return Err(SshDestinationError::Odd(name.to_owned()).into());
        }
        return Ok(NodeRoute::Namespace {
            name: namespace.to_owned(),
            // This very program, also once its file is gone.
            program: format!("/proc/{}/exe", std::process::id()).into(),
        });
    }
    Ok(NodeRoute::Ssh {
        destination: name.parse()?,
        options: SshOptions {
            config: options.ssh_config.clone(),
            prompts,
            connect: connect_timeout(options.timeout),
            alone: false,
            pin: None,
            login: SshLogin::Configured,
        },
    })
}

/// Before we give up ourselves, so that ssh can say why.
pub(crate) fn connect_timeout(timeout: Duration) -> Duration {
    timeout.mul_f64(0.75).min(CONNECT_TIMEOUT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_only_a_lab_knows_leads_to_the_lab() {
        let told = |name: &str| {
            let route = NodeRoute::Ssh {
                destination: name.parse().unwrap(),
                options: SshOptions {
                    config: None,
                    prompts: false,
                    connect: CONNECT_TIMEOUT,
                    alone: false,
                    pin: None,
                    login: SshLogin::Configured,
                },
            };
            let labs = ["first", "a b"].map(|lab| RunningLab {
                name: lab.to_owned(),
                nodes: vec!["spark-a".to_owned()],
            });
            let unresolved = ConnectError::Unresolved { labs: Vec::new() };
            with_labs(unresolved, &route, &labs).to_string()
        };
        let plain = "no machine of this name can be found: check the spelling, or give its address";
        assert_eq!(told("spark-x"), plain);
        assert_eq!(
            told("spark-a"),
            format!(
                "{plain}; a lab that is up has a node of this name: `--lab first` or `--lab 'a b'`"
            )
        );
    }
}
