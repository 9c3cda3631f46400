//! A node that is trusted, and what became of it.

use std::{path::PathBuf, time::Duration};

use crosstie_node::trust::Settled;
use crosstie_reach::ssh::{Destination, Login, SshOptions};
use crosstie_report::trust::Outcome;
use crosstie_trust::Name;

use super::TrustError;
use crate::{FleetOptions, connector::connect_timeout};

#[derive(Debug, Clone)]
pub(super) struct TrustNode {
    /// As the person wrote it.
    pub(super) label: String,
    pub(super) name: Name,
    /// Absent for this machine.
    pub(super) destination: Option<Destination>,
    config: Option<PathBuf>,
    connect: Duration,
}

impl TrustNode {
    pub(super) fn new(
        label: &str,
        options: &FleetOptions,
        here: &Name,
    ) -> Result<Self, TrustError> {
        let destination: Option<Destination> = match label {
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
            login: Login::Configured,
        }
    }
}

/// What one more visit has done.
pub(super) fn add(outcome: &mut Outcome, settled: Settled) {
    let changed = settled.changed.iter().map(ToString::to_string);
    outcome.changed.extend(changed);
    outcome.aliases.extend(settled.aliases);
    outcome.unwritten.extend(settled.unwritten);
}
