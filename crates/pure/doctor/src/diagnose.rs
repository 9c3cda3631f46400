//! Every check over every node.

use crosstie_model::{Facts, Finding, Spec};
use serde::Serialize;

use crate::{Cluster, Hit, Node, Run, checks};

/// What is known of one node.
pub struct Patient<'a> {
    pub facts: &'a Facts,
    /// The same node a moment before, where counters were read twice.
    pub earlier: Option<&'a Facts>,
}

/// What `doctor --json` prints.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Diagnosis {
    pub nodes: Vec<NodeFindings>,
    /// What shows only by comparing nodes.
    pub cluster: Vec<Finding>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NodeFindings {
    pub host: String,
    /// Why nothing is known of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    pub findings: Vec<Finding>,
}

impl Diagnosis {
    pub fn findings(&self) -> impl Iterator<Item = &Finding> {
        let nodes = self.nodes.iter().flat_map(|node| &node.findings);
        nodes.chain(&self.cluster)
    }
}

/// Which checks to run, by id. Both empty: all of them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Selection<'a> {
    pub only: &'a [String],
    pub skip: &'a [String],
}

impl Selection<'_> {
    fn takes(self, id: &str) -> bool {
        (self.only.is_empty() || self.only.iter().any(|only| only == id))
            && !self.skip.iter().any(|skip| skip == id)
    }
}

/// Findings in the order of the patients; worst first in each list.
pub fn diagnose(patients: &[Patient], spec: Option<&Spec>, selection: Selection) -> Diagnosis {
    let nodes = patients
        .iter()
        .map(|patient| Node::new(patient.facts, patient.earlier, spec))
        .collect();
    let cluster = Cluster::new(nodes, spec);
    Diagnosis {
        nodes: cluster
            .nodes
            .iter()
            .map(|node| NodeFindings {
                host: node.name.to_owned(),
                error: None,
                findings: of_node(node, selection),
            })
            .collect(),
        cluster: of_cluster(&cluster, selection),
    }
}

fn of_node(node: &Node, selection: Selection) -> Vec<Finding> {
    if !node.concerns_us() {
        return Vec::new();
    }
    sorted(selection, |run| match run {
        Run::Node(check) | Run::NodeAndCluster(check, _) | Run::MeasuredOrGrown(check) => {
            check(node)
        }
        _ => Vec::new(),
    })
}

fn of_cluster(cluster: &Cluster, selection: Selection) -> Vec<Finding> {
    sorted(selection, |run| match run {
        Run::Pair(check) => cluster.pairs().flat_map(|pair| check(&pair)).collect(),
        Run::Cluster(check) | Run::NodeAndCluster(_, check) | Run::MeasuredOrCompared(check) => {
            check(cluster)
        }
        _ => Vec::new(),
    })
}

fn sorted(selection: Selection, hits: impl Fn(Run) -> Vec<Hit>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = checks::all()
        .filter(|check| selection.takes(check.id))
        .flat_map(|check| hits(check.run).into_iter().map(|hit| hit.finding(check)))
        .collect();
    findings.sort_by_key(|finding| finding.severity);
    findings
}
