//! Logins without a password: this machine → nodes, and node ↔ node.

mod host_keys;
mod install;
mod login;
mod node;
mod refresh;
#[cfg(test)]
mod tests;
mod undo;
mod visits;

use std::io;

use crosstie_node::{
    scratch_folder::ScratchFolder,
    trust::{self, HomeFolder, HomeLock, TrustReply, TrustRequest, WantedTrust, handle_request},
};
use crosstie_reach::{secret::PasswordSource, ssh::SshDestinationError};
use crosstie_report::{
    suggested_command::CommandVerb,
    text::with_remark,
    trust::{ControllerReport, TrustNodeReport, TrustOutcome, TrustReport},
};
use crosstie_trust::{Fingerprint, KeyOwner, MachineName, MachineNameError};

use crate::{FleetOptions, NoRandomNumbers, Prompter, apply::new_run_id};
use node::TrustNode;
pub use refresh::refresh;

pub struct TrustOptions {
    /// As ssh takes them; `.` is this machine.
    pub nodes: Vec<String>,
    /// Change nothing.
    pub dry_run: bool,
    /// Of [`undo`]: forget nodes that cannot be reached any more.
    pub forget: bool,
    /// Of host keys that are approved of.
    pub fingerprints: Vec<Fingerprint>,
    /// Of the password for logins.
    pub password: PasswordSource,
    pub fleet: FleetOptions,
}

#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    #[error("cannot watch for Ctrl-C")]
    Signals(#[source] io::Error),
    #[error("cannot make a folder for this run")]
    Scratch(#[source] io::Error),
    #[error("cannot make a folder for ssh's files")]
    Folder(#[source] io::Error),
    #[error("cannot write a file for ssh")]
    KnownHosts(#[source] io::Error),
    #[error("cannot find this program")]
    Program(#[source] io::Error),
    #[error(transparent)]
    Home(trust::HomeTrustError),
    #[error("this machine")]
    Here(#[source] trust::HomeTrustError),
    #[error(transparent)]
    ControllerName(MachineNameError),
    #[error(transparent)]
    NoRandomNumbers(#[from] NoRandomNumbers),
    #[error(transparent)]
    Destination(#[from] SshDestinationError),
    #[error("{label} cannot be trusted under this name")]
    Name {
        label: String,
        source: MachineNameError,
    },
    #[error(
        "{first} and {second} are both called {name}: give one of them another name in your ssh configuration (Host, HostName)"
    )]
    SameName {
        first: String,
        second: String,
        name: MachineName,
    },
    #[error("this machine (.) is undone with the last node: {undo} undoes all")]
    HereFirst { undo: String },
}

/// This machine, whoever sits at it.
struct Controller {
    home: HomeFolder,
    name: MachineName,
    /// What nodes know this command by, while it is at work on them.
    run: String,
    /// Held to the end; nothing where nothing is changed.
    lease: Option<HomeLock>,
}

impl Controller {
    fn find() -> Result<Self, TrustError> {
        let system = rustix::system::uname();
        let name = system.nodename().to_string_lossy().parse();
        let name = name.or_else(|_: MachineNameError| "controller".parse());
        Ok(Self {
            name: name.map_err(TrustError::ControllerName)?,
            home: HomeFolder::find().map_err(TrustError::Home)?,
            run: new_run_id()?,
            lease: None,
        })
    }

    /// Nobody else is at work in this home directory from now on.
    fn alone(mut self, options: &TrustOptions) -> Result<Self, TrustError> {
        if !options.dry_run {
            self.lease = self.home.lease(&self.run).map_err(TrustError::Here)?;
        }
        Ok(self)
    }

    fn owner(&self) -> KeyOwner {
        KeyOwner {
            user: self.home.user.clone(),
            name: self.name.clone(),
        }
    }

    fn ask(&self, ask: &TrustRequest) -> Result<TrustReply, TrustError> {
        handle_request(&self.home, ask, None).map_err(TrustError::Here)
    }

    fn nothing(&self, dry_run: bool) -> WantedTrust {
        WantedTrust {
            own: self.name.clone(),
            authorize: Vec::new(),
            peers: Vec::new(),
            reached: Vec::new(),
            dry_run,
        }
    }

    /// What is here, without touching it.
    fn look(&self) -> Result<TrustReply, TrustError> {
        self.ask(&TrustRequest::Settle(self.nothing(true)))
    }
}

/// Lets this machine log in to the nodes, and each of them to the others.
pub fn install(options: &TrustOptions, prompter: &dyn Prompter) -> Result<TrustReport, TrustError> {
    let (controller, scratch) = prepare(options)?;
    let trust = options.fleet.offer.command(CommandVerb::Trust);
    options.fleet.last_words(&format!(
        "crosstie: interrupted; what was written so far is in the journals.\n  {}\n  {}",
        with_remark(&trust, "finishes it"),
        with_remark(trust.clone().flag("undo", true), "undoes it")
    ));
    let report = install::run(options, &controller, &scratch, prompter);
    options.fleet.last_words("");
    report
}

/// Undoes it on these nodes, or on all, and on this machine.
pub fn undo(options: &TrustOptions, prompter: &dyn Prompter) -> Result<TrustReport, TrustError> {
    let (controller, scratch) = prepare(options)?;
    let undo = options
        .fleet
        .offer
        .command(CommandVerb::Trust)
        .flag("undo", true);
    let undo = with_remark(undo, "finishes it");
    let words = format!("crosstie: interrupted\n  {undo}");
    options.fleet.last_words(&words);
    let report = undo::run(options, &controller, &scratch, prompter);
    options.fleet.last_words("");
    report
}

fn prepare(options: &TrustOptions) -> Result<(Controller, ScratchFolder), TrustError> {
    crosstie_reach::end_children_on_signals().map_err(TrustError::Signals)?;
    let scratch = ScratchFolder::new().map_err(TrustError::Scratch)?;
    Ok((Controller::find()?.alone(options)?, scratch))
}

/// Each under a name of its own, which its host key and its lines go by.
fn nodes(
    destinations: &[String],
    options: &TrustOptions,
    controller: &Controller,
) -> Result<Vec<TrustNode>, TrustError> {
    let mut nodes: Vec<TrustNode> = Vec::new();
    for destination in destinations {
        let node = TrustNode::new(destination, &options.fleet, &controller.name)?;
        if let Some(other) = nodes.iter().find(|other| other.name == node.name) {
            return Err(TrustError::SameName {
                first: other.label.clone(),
                second: node.label,
                name: node.name,
            });
        }
        nodes.push(node);
    }
    Ok(nodes)
}

fn report(
    nodes: &[TrustNode],
    outcomes: &[TrustOutcome],
    here: &TrustOutcome,
    hints: Vec<String>,
) -> TrustReport {
    let nodes = nodes.iter().zip(outcomes);
    TrustReport {
        dry_run: false,
        undo: false,
        nodes: nodes
            .map(|(node, outcome)| TrustNodeReport::new(node.label.clone(), outcome))
            .collect(),
        controller: ControllerReport::new(here),
        hints,
    }
}
