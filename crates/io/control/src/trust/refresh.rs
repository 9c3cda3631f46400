//! Names and addresses that nodes have got since they were trusted.

use std::sync::Arc;

use crosstie_node::scratch_folder::ScratchFolder;
use crosstie_reach::secret::PasswordSource;
use crosstie_trust::{MachineName, TrustedNode};

use super::{Controller, TrustError, TrustNode, TrustOptions, install};
use crate::{FleetOptions, NoObserver};

/// Lets nodes that were made known to each other look for each other again, with the keys that they have: nobody is asked,
/// and nobody is told of who was not. What changed, in a few lines; nothing where there is no such trust.
pub fn refresh(names: &[&str], fleet: &FleetOptions) -> Result<Vec<String>, TrustError> {
    let controller = Controller::find()?;
    if !controller.home.ours().is_dir() {
        return Ok(Vec::new());
    }
    let reached = controller.look()?.reached;
    let mut known: Vec<(&str, MachineName)> = Vec::new();
    for label in names {
        // A name that cannot be trusted never was.
        if let Ok(node) = TrustNode::new(label, fleet, &controller.name) {
            known.push((label, node.name));
        }
    }
    let nodes = mutual(&known, &reached);
    if nodes.len() < 2 {
        return Ok(Vec::new());
    }
    let options = TrustOptions {
        nodes,
        dry_run: false,
        forget: false,
        fingerprints: Vec::new(),
        password: PasswordSource::Nobody,
        fleet: FleetOptions {
            observer: Arc::new(NoObserver),
            ..fleet.clone()
        },
    };
    let scratch = ScratchFolder::new().map_err(TrustError::Scratch)?;
    let controller = controller.alone(&options)?;
    let report = install::run(&options, &controller, &scratch, &NoObserver)?;
    Ok(report.notes())
}

/// Those of which each was told of all the others.
fn mutual(nodes: &[(&str, MachineName)], reached: &[TrustedNode]) -> Vec<String> {
    let knows = |one: &MachineName, other: &MachineName| {
        let mut reached = reached.iter().filter(|node| node.name == *one);
        reached.any(|node| node.peers.contains(other))
    };
    let mut chosen: Vec<&(&str, MachineName)> = Vec::new();
    for node in nodes {
        let was_reached = reached.iter().any(|known| known.name == node.1);
        let mut others = chosen.iter();
        if was_reached && others.all(|other| knows(&node.1, &other.1) && knows(&other.1, &node.1)) {
            chosen.push(node);
        }
    }
    chosen
        .iter()
        .map(|(label, _)| (*label).to_owned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_those_that_know_each_other_are_chosen() {
        let name = |text: &str| text.parse::<MachineName>().unwrap();
        let key =
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGxN8LDhNjGhbFOLZjVCCVVLlxr5eFpW9iVRCEdVNfoB";
        let reached = |own: &str, peers: &[&str]| TrustedNode {
            name: name(own),
            destination: own.to_owned(),
            host_key: key.parse().unwrap(),
            peers: peers.iter().map(|peer| name(peer)).collect(),
        };
        let reached = [
            reached("a", &["b", "c"]),
            reached("b", &["a"]),
            reached("c", &["a"]),
        ];
        let nodes = ["a", "stranger", "b", "c"].map(|text| (text, name(text)));
        assert_eq!(mutual(&nodes, &reached), ["a", "b"]);
        assert!(mutual(&nodes[1..2], &reached).is_empty());
    }
}
