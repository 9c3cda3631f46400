//! Which host keys are accepted, and why.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use crosstie_node::{
    scratch_folder::ScratchFolder,
    trust::{self, host_key_here},
};
use crosstie_reach::{
    BOUND, FanOutItemError, fan_out,
    host_key::{HostKeyError, ResolvedDestination, ShownHostKey, read_host_key, resolve},
    ssh::PinnedHostKey,
};
use crosstie_report::suggested_command::CommandVerb;
use crosstie_trust::{Fingerprint, PublicKey, TrustedNode};

use super::{TrustError, TrustNode, TrustOptions};
use crate::{ConsentAnswer, ConsentQuestion, Prompter, chain_of};

/// A node whose key is the right one.
#[derive(Debug, Clone)]
pub(super) struct ApprovedNode {
    pub(super) key: PublicKey,
    /// Absent for this machine.
    pub(super) route: Option<PinnedRoute>,
}

#[derive(Debug, Clone)]
pub(super) struct PinnedRoute {
    pub(super) resolved: ResolvedDestination,
    pub(super) pin: PinnedHostKey,
    /// A folder for this node alone.
    pub(super) folder: PathBuf,
}

/// Why a node is not visited.
pub(super) struct RefusedNode {
    /// The key that was shown.
    pub(super) key: Option<PublicKey>,
    pub(super) why: String,
    /// Somebody was asked about it, and did not say yes.
    pub(super) is_no: bool,
}

#[derive(Debug, thiserror::Error)]
enum RefusedKey {
    #[error(
        "its host key is not the one that was approved of ({then} then, {now} now). Somebody may be in between, or it was \
         installed anew: compare on its console ({compare}). If it is right, {forget}, and trust it again"
    )]
    Changed {
        then: Fingerprint,
        now: Fingerprint,
        compare: String,
        forget: String,
    },
    #[error("its host key was not approved of ({kind} {fingerprint})")]
    Declined {
        kind: &'static str,
        fingerprint: Fingerprint,
    },
    #[error(
        "nobody said whether its host key is the right one ({kind} {fingerprint}); to approve of it without a question, pass \
         --fingerprint {fingerprint}"
    )]
    Unanswered {
        kind: &'static str,
        fingerprint: Fingerprint,
    },
    #[error(
        "your ssh does not know its host key, {kind} {fingerprint}: compare on its console ({compare}), then give it as \
         --fingerprint {fingerprint}"
    )]
    Unknown {
        kind: &'static str,
        fingerprint: Fingerprint,
        compare: String,
    },
}

impl RefusedKey {
    fn is_no(&self) -> bool {
        matches!(self, Self::Declined { .. } | Self::Unanswered { .. })
    }
}

/// Why no key was shown.
#[derive(Debug, thiserror::Error)]
enum NoKey {
    #[error(transparent)]
    Here(#[from] trust::HomeTrustError),
    #[error(transparent)]
    There(#[from] HostKeyError),
    #[error(transparent)]
    Unfinished(#[from] FanOutItemError),
}

/// Looks at all keys at once, then asks about those that nobody knows, one after the other.
pub(super) fn approve(
    nodes: &[TrustNode],
    reached: &[TrustedNode],
    options: &TrustOptions,
    scratch: &ScratchFolder,
    prompter: &dyn Prompter,
) -> Result<Vec<Result<ApprovedNode, RefusedNode>>, TrustError> {
    let deadline = options.fleet.timeout;
    let mut looks = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        let folder = scratch.path().join(index.to_string());
        fs::create_dir(&folder).map_err(TrustError::Folder)?;
        looks.push((node.clone(), folder));
    }
    let shown = fan_out(looks, BOUND, 3 * deadline, move |_, (node, folder)| {
        shown(node, folder, deadline)
    });
    crosstie_reach::end_if_interrupted();
    let mut approved = Vec::new();
    for (index, (node, shown)) in nodes.iter().zip(shown).enumerate() {
        let folder = scratch.path().join(index.to_string());
        let shown = shown.unwrap_or_else(|unfinished| Err(unfinished.into()));
        approved.push(match shown {
            Err(error) => Err(RefusedNode {
                key: None,
                why: chain_of(&error),
                is_no: false,
            }),
            Ok((shown, resolved)) => match judge(node, &shown, reached, options, prompter) {
                Err(error) => Err(RefusedNode {
                    key: Some(shown.key),
                    why: error.to_string(),
                    is_no: error.is_no(),
                }),
                Ok(()) => Ok(pinned(node, shown.key, resolved, folder)?),
            },
        });
    }
    Ok(approved)
}

fn shown(
    node: &TrustNode,
    folder: &Path,
    deadline: Duration,
) -> Result<(ShownHostKey, Option<ResolvedDestination>), NoKey> {
    let Some(destination) = &node.destination else {
        let key = host_key_here()?;
        return Ok((ShownHostKey { key, known: true }, None));
    };
    let options = node.options();
    let resolved = resolve(destination, &options, deadline)?;
    let shown = read_host_key(destination, &options, folder, deadline)?;
    Ok((shown, Some(resolved)))
}

fn judge(
    node: &TrustNode,
    shown: &ShownHostKey,
    reached: &[TrustedNode],
    options: &TrustOptions,
    prompter: &dyn Prompter,
) -> Result<(), RefusedKey> {
    let key = &shown.key;
    let (kind, fingerprint) = (key.kind().label(), key.fingerprint());
    let compare = format!(
        "ssh-keygen -lf /etc/ssh/ssh_host_{}_key.pub",
        kind.to_lowercase()
    );
    let pinned = reached.iter().find(|known| known.name == node.name);
    if let Some(pinned) = pinned.filter(|pinned| pinned.host_key != *key) {
        return Err(RefusedKey::Changed {
            then: pinned.host_key.fingerprint(),
            now: fingerprint,
            compare,
            forget: options
                .fleet
                .offer
                .for_nodes([node.label.as_str()])
                .command(CommandVerb::Trust)
                .flag("undo", true)
                .flag("forget", true)
                .to_string(),
        });
    }
    if pinned.is_some() || shown.known || options.fingerprints.contains(&fingerprint) {
        return Ok(());
    }
    if !prompter.is_present() {
        return Err(RefusedKey::Unknown {
            kind,
            fingerprint,
            compare,
        });
    }
    let text = format!(
        "{} shows a host key that your ssh does not know: {kind} {fingerprint}. Its console shows the right one: {compare}",
        node.label
    );
    let question = ConsentQuestion {
        text: &text,
        ask: "Is it the same?",
        plan: None,
        until: None,
    };
    match prompter.ask(&question) {
        ConsentAnswer::Yes => Ok(()),
        ConsentAnswer::No => Err(RefusedKey::Declined { kind, fingerprint }),
        ConsentAnswer::EndOfInput | ConsentAnswer::Silence => {
            Err(RefusedKey::Unanswered { kind, fingerprint })
        }
    }
}

fn pinned(
    node: &TrustNode,
    key: PublicKey,
    resolved: Option<ResolvedDestination>,
    folder: PathBuf,
) -> Result<ApprovedNode, TrustError> {
    let Some(resolved) = resolved else {
        return Ok(ApprovedNode { key, route: None });
    };
    let known_hosts = folder.join("known_hosts");
    fs::write(&known_hosts, format!("{} {key}\n", node.name)).map_err(TrustError::KnownHosts)?;
    let pin = PinnedHostKey {
        known_hosts,
        alias: node.name.to_string(),
        algorithms: key.kind().algorithms(),
    };
    Ok(ApprovedNode {
        key,
        route: Some(PinnedRoute {
            resolved,
            pin,
            folder,
        }),
    })
}
