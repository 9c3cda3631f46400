//! Which host keys are accepted, and why.

use std::{fs, path::PathBuf, time::Duration};

use anyhow::Context;
use crosstie_model::word;
use crosstie_node::{scratch::Scratch, trust::host_key_here};
use crosstie_reach::{
    BOUND, fan_out,
    host_key::{Resolved, Shown, look, resolve},
    ssh::Pin,
};
use crosstie_trust::{PublicKey, Reached};

use super::{Node, TrustArgs};
use crate::terminal;

/// A node whose key is the right one.
#[derive(Debug, Clone)]
pub(super) struct Approved {
    pub(super) key: PublicKey,
    /// Absent for this machine.
    pub(super) way: Option<Way>,
}

#[derive(Debug, Clone)]
pub(super) struct Way {
    pub(super) resolved: Resolved,
    pub(super) pin: Pin,
    /// A folder for this node alone.
    pub(super) folder: PathBuf,
}

/// A key that was shown, and why it is not accepted.
pub(super) type Refused = (Option<PublicKey>, String);

/// Looks at all keys at once, then asks about those that nobody knows, one after the other.
pub(super) fn approve(
    nodes: &[Node],
    reached: &[Reached],
    args: &TrustArgs,
    scratch: &Scratch,
) -> anyhow::Result<Vec<Result<Approved, Refused>>> {
    let deadline = Duration::from_secs(args.ways.timeout.into());
    let mut looks = Vec::new();
    for (index, node) in nodes.iter().enumerate() {
        let folder = scratch.path().join(index.to_string());
        fs::create_dir(&folder).context("cannot make a folder for ssh's files")?;
        looks.push((node.clone(), folder));
    }
    let shown = fan_out(looks, BOUND, 3 * deadline, move |_, (node, folder)| {
        shown(node, folder, deadline)
    });
    crosstie_reach::end_if_interrupted();
    let mut approved = Vec::new();
    for (index, (node, shown)) in nodes.iter().zip(shown).enumerate() {
        let folder = scratch.path().join(index.to_string());
        let shown = shown.unwrap_or_else(|unfinished| Err(unfinished.to_string()));
        approved.push(match shown {
            Err(error) => Err((None, error)),
            Ok((shown, resolved)) => match judge(node, &shown, reached, args) {
                Err(error) => Err((Some(shown.key), error)),
                Ok(()) => Ok(pinned(node, shown.key, resolved, folder)?),
            },
        });
    }
    Ok(approved)
}

fn shown(
    node: &Node,
    folder: &std::path::Path,
    deadline: Duration,
) -> Result<(Shown, Option<Resolved>), String> {
    let text = |error: anyhow::Error| format!("{error:#}");
    let Some(destination) = &node.destination else {
        let key = host_key_here().map_err(|error| text(error.into()))?;
        return Ok((Shown { key, known: true }, None));
    };
    let options = node.options();
    let resolved = resolve(destination, &options, deadline).map_err(|error| text(error.into()))?;
    let shown =
        look(destination, &options, folder, deadline).map_err(|error| text(error.into()))?;
    Ok((shown, Some(resolved)))
}

fn judge(node: &Node, shown: &Shown, reached: &[Reached], args: &TrustArgs) -> Result<(), String> {
    let key = &shown.key;
    let (kind, fingerprint) = (key.kind().label(), key.fingerprint());
    let pinned = reached.iter().find(|known| known.name == node.name);
    if let Some(pinned) = pinned.filter(|pinned| pinned.host_key != *key) {
        return Err(format!(
            "its host key is not the one that was approved of ({} then, {fingerprint} now). Somebody may be in between, or \
             it was installed anew: compare on its console (ssh-keygen -lf /etc/ssh/ssh_host_{}_key.pub). If it is right, \
             crosstie trust --undo --forget {} and trust it again",
            pinned.host_key.fingerprint(),
            kind.to_lowercase(),
            word(&node.label),
        ));
    }
    if pinned.is_some() || shown.known || args.fingerprint.contains(&fingerprint) {
        return Ok(());
    }
    let compare = format!(
        "ssh-keygen -lf /etc/ssh/ssh_host_{}_key.pub",
        kind.to_lowercase()
    );
    if terminal::is_there() {
        let question = format!(
            "{} shows a host key that your ssh does not know: {kind} {fingerprint}. Its console shows the right one: {compare}. Is it the same?",
            node.label
        );
        if terminal::approve(&question) {
            return Ok(());
        }
        return Err(format!(
            "its host key was not approved of ({kind} {fingerprint})"
        ));
    }
    Err(format!(
        "your ssh does not know its host key, {kind} {fingerprint}: compare on its console ({compare}), then give it as \
         --fingerprint {fingerprint}"
    ))
}

fn pinned(
    node: &Node,
    key: PublicKey,
    resolved: Option<Resolved>,
    folder: PathBuf,
) -> anyhow::Result<Approved> {
    let Some(resolved) = resolved else {
        return Ok(Approved { key, way: None });
    };
    let known_hosts = folder.join("known_hosts");
    fs::write(&known_hosts, format!("{} {key}\n", node.name))
        .context("cannot write a file for ssh")?;
    let pin = Pin {
        known_hosts,
        alias: node.name.to_string(),
        algorithms: key.kind().algorithms(),
    };
    Ok(Approved {
        key,
        way: Some(Way {
            resolved,
            pin,
            folder,
        }),
    })
}
