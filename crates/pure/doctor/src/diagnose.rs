//! Every check over every node.

use crosstie_model::{Facts, Finding, Spec};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{ClockOffset, Cluster, Hit, Node, Run, checks};

/// What is known of one node.
pub struct Patient<'a> {
    pub facts: &'a Facts,
    /// The same node a moment before, where counters were read twice.
    pub earlier: Option<&'a Facts>,
    /// Known of live nodes.
    pub clock: Option<ClockOffset>,
}

/// What `doctor --json` prints.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Diagnosis {
    pub nodes: Vec<NodeFindings>,
    /// What shows only by comparing nodes.
    pub cluster: Vec<Finding>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NodeFindings {
    pub host: String,
    /// Why nothing is known of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    pub findings: Vec<Finding>,
    /// What the examination could not cover, for a person.
    pub notes: Vec<String>,
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
        .map(|patient| Node::new(patient, spec))
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
                notes: notes(node),
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

fn notes(node: &Node) -> Vec<String> {
    const SHOWN: usize = 4;
    if !node.concerns_us() {
        return vec!["no RDMA card here, and no cluster file expects one".to_owned()];
    }
    let denied = node.facts.unread.iter().filter(|gap| gap.root_would);
    let denied: Vec<&str> = denied.map(|gap| gap.what.as_str()).collect();
    if denied.is_empty() {
        return Vec::new();
    }
    let more = match denied.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let shown = denied[..denied.len().min(SHOWN)].join(", ");
    vec![format!(
        "not examined, since only root may read it: {shown}{more} (--sudo)"
    )]
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
