//! A node of the command line, and how it went with it.

use std::{path::PathBuf, time::Duration};

use anyhow::Context;
use crosstie_node::trust::{Change, Settled};
use crosstie_reach::ssh::{Destination, Login, SshOptions};
use crosstie_trust::{Alias, Name, PublicKey, UnwrittenAlias};

use super::TrustArgs;
use crate::nodes::CONNECT;

#[derive(Debug, Clone)]
pub(super) struct Node {
    /// As the person wrote it.
    pub(super) label: String,
    pub(super) name: Name,
    /// Absent for this machine.
    pub(super) destination: Option<Destination>,
    config: Option<PathBuf>,
    connect: Duration,
}

/// What became of it so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Outcome {
    pub(super) host_key: Option<PublicKey>,
    pub(super) changed: Vec<Change>,
    pub(super) aliases: Vec<Alias>,
    pub(super) unwritten: Vec<UnwrittenAlias>,
    pub(super) error: Option<String>,
}

impl Node {
    pub(super) fn new(label: &str, args: &TrustArgs, here: &Name) -> anyhow::Result<Self> {
        let limit = Duration::from_secs(args.ways.timeout.into());
        let destination: Option<Destination> = match label {
            "." => None,
            other => Some(other.parse()?),
        };
        let name = match &destination {
            None => here.clone(),
            Some(destination) => destination
                .host()
                .parse()
                .with_context(|| format!("{label} cannot be trusted under this name"))?,
        };
        Ok(Self {
            label: label.to_owned(),
            name,
            destination,
            config: args.ways.ssh_config.clone(),
            connect: limit.mul_f64(0.75).min(CONNECT),
        })
    }

    pub(super) fn options(&self) -> SshOptions {
        SshOptions {
            config: self.config.clone(),
            prompts: false,
            connect: self.connect,
            alone: false,
            pin: None,
            login: Login::Configured,
        }
    }
}

impl Outcome {
    /// What one more visit has done.
    pub(super) fn add(&mut self, settled: Settled) {
        self.changed.extend(settled.changed);
        self.aliases.extend(settled.aliases);
        self.unwritten.extend(settled.unwritten);
    }

    pub(super) fn failed(error: impl Into<String>) -> Self {
        Self {
            error: Some(error.into()),
            ..Self::default()
        }
    }
}
