//! A node that is trusted, and what became of it.

use std::{path::PathBuf, time::Duration};

use crosstie_node::trust::TrustReply;
use crosstie_reach::ssh::{SshDestination, SshLogin, SshOptions};
use crosstie_report::trust::TrustOutcome;
use crosstie_trust::MachineName;

use super::TrustError;
use crate::{FleetOptions, connector::connect_timeout};

#[derive(Debug, Clone)]
pub(super) struct TrustNode {
    /// As the person wrote it.
    pub(super) label: String,
    pub(super) name: MachineName,
    /// Absent for this machine.
    pub(super) destination: Option<SshDestination>,
    config: Option<PathBuf>,
    connect: Duration,
}

impl TrustNode {
    pub(super) fn new(
        label: &str,
        options: &FleetOptions,
        here: &MachineName,
    ) -> Result<Self, TrustError> {
        let destination: Option<SshDestination> = match label {
            "." => None,
            other => Some(other.parse()?),
        };
        let name = match &destination {
            None => here.clone(),
            Some(destination) => {
                let name = destination.host().parse();
                name.map_err(|source| TrustError::Name {
                    label: label.to_owned(),
                    source,
                })?
            }
        };
        Ok(Self {
            label: label.to_owned(),
            name,
            destination,
            config: options.ssh_config.clone(),
            connect: connect_timeout(options.timeout),
        })
    }

    pub(super) fn options(&self) -> SshOptions {
        SshOptions {
            config: self.config.clone(),
            prompts: false,
            connect: self.connect,
            alone: false,
            pin: None,
            login: SshLogin::Configured,
        }
    }
}

/// What one more visit has done.
pub(super) fn add(outcome: &mut TrustOutcome, settled: TrustReply) {
    let changed = settled.changed.iter().map(ToString::to_string);
    outcome.changed.extend(changed);
    outcome.aliases.extend(settled.aliases);
    outcome.unwritten.extend(settled.unwritten);
}
