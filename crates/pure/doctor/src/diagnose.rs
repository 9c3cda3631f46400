//! Every check over every node.

use std::collections::{HashMap, HashSet};

use crosstie_model::{Cable, ClusterSpec, Facts, Finding, run::StoredRun};
use crosstie_plan::PlannedWiring;
use ipnet::IpNet;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    Check, CheckHit, ClockOffset, ExaminedCluster, ExaminedNode, FindingSite, RunWithFaults,
    causes::{CableIndex, LocatedFinding, assign_causes},
    checks,
    finding_site::{SiteNames, between},
};

/// What is known of one node.
pub struct NodeInput<'a> {
    pub facts: &'a Facts,
    /// The same node a moment before, where counters were read twice.
    pub earlier: Option<&'a Facts>,
    /// Known of live nodes.
    pub clock: Option<ClockOffset>,
}

/// A node that was asked and could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadNode {
    /// As the cluster file names it, where it does.
    pub host: String,
    pub error: String,
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
pub struct CheckSelection<'a> {
    pub only: &'a [String],
    pub skip: &'a [String],
}

impl CheckSelection<'_> {
    fn takes(self, id: &str) -> bool {
        (self.only.is_empty() || self.only.iter().any(|only| only == id))
            && !self.skip.iter().any(|skip| skip == id)
    }
}

/// Everything that is examined together: a finding may explain any other of it.
#[derive(Clone, Copy, Default)]
pub struct DoctorInput<'a> {
    pub patients: &'a [NodeInput<'a>],
    pub unread: &'a [UnreadNode],
    /// What was measured between these nodes.
    pub runs: &'a [StoredRun],
    /// The cluster file.
    pub spec: Option<&'a ClusterSpec>,
    pub selection: CheckSelection<'a>,
}

/// Findings in the order of the patients; worst first in each list. Each has its cause, where another finding explains it.
pub fn diagnose(examination: &DoctorInput) -> Diagnosis {
    let DoctorInput {
        patients,
        unread,
        runs,
        spec,
        selection,
    } = *examination;
    let mut planned = spec.map_or_else(HashMap::new, |spec| planned_addresses(spec, patients));
    let nodes = patients
        .iter()
        .map(|patient| {
            let mut node = ExaminedNode::new(patient, spec);
            node.planned = planned.remove(node.name).unwrap_or_default();
            node
        })
        .collect();
    let cluster = ExaminedCluster::new(nodes, unread, spec);
    let mut found: Vec<LocatedFinding> = Vec::new();
    for (index, node) in cluster.nodes.iter().enumerate() {
        if node.concerns_us() {
            found.extend(of_node(index, node, selection));
        }
    }
    found.extend(of_cluster(&cluster, runs, selection));
    let hosts: Vec<String> = cluster
        .nodes
        .iter()
        .map(|node| node.name.to_owned())
        .collect();
    assign_causes(&mut found, &hosts, &cables(&cluster, runs));
    let nodes = cluster.nodes.iter().zip(hosts);
    let mut diagnosis = Diagnosis {
        nodes: nodes
            .map(|(node, host)| NodeFindings {
                host,
                error: None,
                findings: Vec::new(),
                notes: notes(node),
            })
            .collect(),
        cluster: Vec::new(),
    };
    // In the order of the catalogue where they are alike: it is the order in which to look.
    found.sort_by_key(|placed| placed.finding.severity);
    for LocatedFinding { host, finding, .. } in found {
        match host {
            Some(host) => diagnosis.nodes[host].findings.push(finding),
            None => diagnosis.cluster.push(finding),
        }
    }
    diagnosis
}

/// By node and interface. Nothing where the cluster file cannot be satisfied: `crosstie plan` says why.
fn planned_addresses<'a>(
    spec: &'a ClusterSpec,
    patients: &[NodeInput<'a>],
) -> HashMap<&'a str, HashMap<String, IpNet>> {
    if !spec.check().is_empty() {
        return HashMap::new();
    }
    let facts = patients.iter().map(|patient| patient.facts);
    let Ok(wiring) = PlannedWiring::new(spec, facts) else {
        return HashMap::new();
    };
    let nodes = wiring.nodes.iter().map(|node| {
        let ports = node.ports.iter();
        let addresses = ports.filter_map(|port| Some((port.interface.clone()?, port.address?)));
        (node.facts.host.name.as_str(), addresses.collect())
    });
    nodes.collect()
}

fn selected(selection: CheckSelection) -> impl Iterator<Item = &'static Check> {
    checks::all().filter(move |check| selection.takes(check.id))
}

fn of_node(index: usize, node: &ExaminedNode, selection: CheckSelection) -> Vec<LocatedFinding> {
    let hits: Vec<(&Check, CheckHit)> = selected(selection)
        .filter_map(|check| Some((check, check.run.node?)))
        .flat_map(|(check, run)| run(node).into_iter().map(move |hit| (check, hit)))
        .collect();
    if hits.is_empty() {
        return Vec::new();
    }
    let names = SiteNames::new(node);
    hits.into_iter()
        .map(|(check, hit)| placed(check, Some(index), hit, |subject| names.of(subject)))
        .collect()
}

fn of_cluster(
    cluster: &ExaminedCluster,
    runs: &[StoredRun],
    selection: CheckSelection,
) -> Vec<LocatedFinding> {
    let by_name: HashMap<&str, &ExaminedNode> =
        cluster.nodes.iter().map(|node| (node.name, node)).collect();
    let sites = |subject: &str| between(&by_name, subject);
    let measured: Vec<RunWithFaults> = runs.iter().map(RunWithFaults::new).collect();
    let mut found = Vec::new();
    for check in selected(selection) {
        let pairs = check.run.pair.into_iter();
        let pairs = pairs.flat_map(|run| cluster.pairs().flat_map(move |pair| run(&pair)));
        let whole = check.run.cluster.into_iter().flat_map(|run| run(cluster));
        let stored = check.run.stored.into_iter();
        let stored = stored.flat_map(|run| measured.iter().flat_map(run));
        let hits = pairs.chain(whole).chain(stored);
        found.extend(hits.map(|hit| placed(check, None, hit, sites)));
    }
    found
}

fn placed(
    check: &'static Check,
    host: Option<usize>,
    hit: CheckHit,
    sites: impl Fn(&str) -> Vec<FindingSite>,
) -> LocatedFinding {
    LocatedFinding {
        check,
        host,
        sites: match hit.sites() {
            [] => sites(hit.subject()),
            told => told.to_vec(),
        },
        felt_elsewhere: hit.is_shown_elsewhere(),
        finding: hit.finding(check),
    }
}

/// Those of the cluster file and of runs, whether their nodes were read or not, and those that are taken for one.
fn cables(cluster: &ExaminedCluster, runs: &[StoredRun]) -> CableIndex {
    let mut cables = CableIndex::default();
    let declared = cluster.spec.map_or(&[][..], |spec| &spec.cables);
    let measured = runs.iter().flat_map(|run| &run.header.cabling);
    for cable in declared.iter().chain(measured) {
        if let Cable::Direct { a, b, number: _ } = cable {
            cables.join(
                (a.node.clone(), a.cage.clone()),
                (b.node.clone(), b.cage.clone()),
            );
        }
    }
    // A cage whose cable is known is on no other.
    let known: HashSet<(&str, &str)> = declared
        .iter()
        .flat_map(Cable::ends)
        .map(|end| (end.node.as_str(), end.cage.as_str()))
        .collect();
    let is_free = |(node, cage): &(String, String)| !known.contains(&(node, cage));
    for pair in cluster.pairs().filter(crate::CagePair::is_cable) {
        if let (Some(a), Some(b)) = (pair.a.place(), pair.b.place())
            && is_free(&a)
            && is_free(&b)
        {
            cables.join(a, b);
        }
    }
    cables
}

fn notes(node: &ExaminedNode) -> Vec<String> {
    const MAX_NAMED: usize = 4;
    if !node.concerns_us() {
        return vec!["no RDMA card here, and no cluster file expects one".to_owned()];
    }
    let denied = node.facts.unread.iter().filter(|gap| gap.root_would);
    let denied: Vec<&str> = denied.map(|gap| gap.what.as_str()).collect();
    if denied.is_empty() {
        return Vec::new();
    }
    let more = match denied.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let shown = denied[..denied.len().min(MAX_NAMED)].join(", ");
    vec![format!(
        "not examined, since only root may read it: {shown}{more} (--sudo)"
    )]
}
