//! Where a finding is: what tells whether two findings are one matter.

use std::collections::HashMap;

use crosstie_model::PortRef;

use crate::ExaminedNode;

/// A node, or a cage of it, or one port behind that cage.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FindingSite {
    pub node: String,
    pub cage: Option<String>,
    /// The RDMA device and the number of its port.
    pub port: Option<(String, u32)>,
}

impl FindingSite {
    pub fn node(name: impl Into<String>) -> Self {
        Self {
            node: name.into(),
            cage: None,
            port: None,
        }
    }

    pub fn cage(node: impl Into<String>, cage: impl Into<String>) -> Self {
        Self {
            cage: Some(cage.into()),
            ..Self::node(node)
        }
    }
}

/// Every name that a port of a node goes by in the subject of a finding: its interface, its device, its function, its
/// cage.
pub(crate) struct SiteNames<'a> {
    node: &'a str,
    sites: HashMap<String, Vec<FindingSite>>,
}

impl<'a> SiteNames<'a> {
    pub(crate) fn new(node: &ExaminedNode<'a>) -> Self {
        let mut sites: HashMap<String, Vec<FindingSite>> = HashMap::new();
        for (index, cage) in node.cages.iter().enumerate() {
            let whole = FindingSite::cage(node.name, &cage.id);
            for (device, port) in node.members(index) {
                let site = FindingSite {
                    port: Some((device.name.clone(), port.number)),
                    ..whole.clone()
                };
                let names = [
                    port.netdev.known().cloned(),
                    device.pci.known().map(ToString::to_string),
                    Some(device.name.clone()),
                    Some(format!("{}/{}", device.name, port.number)),
                ];
                for name in names.into_iter().flatten() {
                    let entry = sites.entry(name).or_default();
                    if !entry.contains(&site) {
                        entry.push(site.clone());
                    }
                }
            }
            // A cage without members, or one that is called like its device, is what that stands for.
            sites.entry(cage.id.clone()).or_insert(vec![whole]);
        }
        Self {
            node: node.name,
            sites,
        }
    }

    /// What a subject of this node is about; the node itself where none of its ports is named.
    pub(crate) fn of(&self, subject: &str) -> Vec<FindingSite> {
        let words = subject.split(", ").flat_map(|part| part.split(" and "));
        let found: Vec<FindingSite> = words
            .filter_map(|word| self.sites.get(word))
            .flatten()
            .cloned()
            .collect();
        if found.is_empty() {
            return vec![FindingSite::node(self.node)];
        }
        found
    }
}

/// What a subject between nodes is about: `spark-a:p0 – spark-b:p0`, `spark-a, spark-b`.
pub(crate) fn between(nodes: &HashMap<&str, &ExaminedNode>, subject: &str) -> Vec<FindingSite> {
    let words = subject
        .split(", ")
        .flat_map(|part| part.split(" – "))
        .flat_map(|part| part.split(" → "));
    let mut found = Vec::new();
    for word in words {
        if nodes.contains_key(word) {
            found.push(FindingSite::node(word));
        } else if let Ok(PortRef { node, cage }) = word.parse::<PortRef>()
            && let Some(node) = nodes.get(node.as_str())
        {
            found.extend(SiteNames::new(node).of(&cage));
        }
    }
    found
}
