//! Findings as trees: what to mend, and what follows from it.

use std::collections::{BTreeSet, HashMap};

use crosstie_doctor::{Diagnosis, checks};
use crosstie_model::{Finding, Severity};

use crate::doctor::plural;

/// A finding, and the node that it is on; none where it is between nodes.
pub type HostFindingRef<'a> = (Option<&'a str>, &'a Finding);

/// What makes two findings the same one.
pub(crate) type Key<'a> = (Option<&'a str>, &'a str, &'a str);

pub(crate) fn key((host, finding): HostFindingRef<'_>) -> Key<'_> {
    (host, &finding.id, &finding.subject)
}

/// Node by node, then those between nodes.
pub fn located(diagnosis: &Diagnosis) -> Vec<HostFindingRef<'_>> {
    let nodes = diagnosis.nodes.iter();
    let nodes = nodes.flat_map(|node| {
        let findings = node.findings.iter();
        findings.map(|found| (Some(node.host.as_str()), found))
    });
    let cluster = diagnosis.cluster.iter().map(|found| (None, found));
    nodes.chain(cluster).collect()
}

/// A finding that no other of a list explains, and all that it explains.
pub struct RootFinding<'a> {
    /// The nodes that have it, word for word; none where it is between nodes.
    pub hosts: Vec<&'a str>,
    pub finding: &'a Finding,
    pub explains: Vec<HostFindingRef<'a>>,
}

impl RootFinding<'_> {
    /// The worst of the whole tree: what is a fault somewhere is to be mended as one.
    pub fn severity(&self) -> Severity {
        let explained = self.explains.iter().map(|(_, finding)| finding.severity);
        explained.fold(self.finding.severity, Ord::min)
    }

    /// `explains 9 more findings on 2 nodes`
    pub fn consequences(&self) -> Option<String> {
        let count = plural(self.explains.len(), "more finding")?;
        let nodes: BTreeSet<&str> = self.explains.iter().filter_map(|(host, _)| *host).collect();
        let on = plural(nodes.len(), "node").map(|nodes| format!(" on {nodes}"));
        Some(format!("explains {count}{}", on.unwrap_or_default()))
    }
}

/// The place of each finding's cause in a list; none where no cause of it is there.
pub(crate) fn causes(found: &[HostFindingRef]) -> Vec<Option<usize>> {
    let mut places: HashMap<Key, usize> = HashMap::new();
    for (index, found) in found.iter().enumerate() {
        places.entry(key(*found)).or_insert(index);
    }
    let cause = |(_, finding): &HostFindingRef| {
        let cause = finding.caused_by.as_ref()?;
        let key = (cause.host.as_deref(), &*cause.id, &*cause.subject);
        places.get(&key).copied()
    };
    found.iter().map(cause).collect()
}

/// The last of its causes. A list that somebody made up may go in circles: each step counts.
fn root_of(causes: &[Option<usize>], mut at: usize) -> usize {
    for _ in 0..causes.len() {
        match causes[at] {
            Some(cause) => at = cause,
            None => break,
        }
    }
    at
}

/// In the order in which to mend them: the worst first, and as the catalogue has them. What several nodes have in the very
/// same words is one.
pub fn roots<'a>(found: &[HostFindingRef<'a>]) -> Vec<RootFinding<'a>> {
    let causes = causes(found);
    let mut explains: HashMap<usize, Vec<HostFindingRef>> = HashMap::new();
    for (index, one) in found.iter().enumerate() {
        let root = root_of(&causes, index);
        if root != index {
            explains.entry(root).or_default().push(*one);
        }
    }
    let ranks: HashMap<&str, usize> = checks::all()
        .enumerate()
        .map(|(rank, check)| (check.id, rank))
        .collect();
    let mut roots: Vec<RootFinding> = Vec::new();
    // By id and subject: those that may be the same in other words are few.
    let mut alike: HashMap<(&str, &str), Vec<usize>> = HashMap::new();
    for (index, (host, finding)) in found.iter().enumerate() {
        if root_of(&causes, index) != index {
            continue;
        }
        let explained = explains.remove(&index).unwrap_or_default();
        let alike = alike.entry((&finding.id, &finding.subject)).or_default();
        let same = alike
            .iter()
            .find(|other| roots[**other].finding == *finding);
        match (same, host) {
            (Some(same), Some(host)) if explained.is_empty() => roots[*same].hosts.push(host),
            _ => {
                if explained.is_empty() && host.is_some() {
                    alike.push(roots.len());
                }
                roots.push(RootFinding {
                    hosts: host.iter().copied().collect(),
                    finding,
                    explains: explained,
                });
            }
        }
    }
    let rank = |root: &RootFinding| ranks.get(root.finding.id.as_str()).copied();
    roots.sort_by_key(|root| (root.severity(), rank(root).unwrap_or(usize::MAX)));
    roots
}
