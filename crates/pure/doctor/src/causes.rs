//! Which finding explains which: a forest, whose roots are what to mend.
//!
//! Each check declares what may lie behind it and over what the two must agree. Here those rules meet the findings of one
//! examination: every finding gets at most one cause, a cause is a finding of the same examination, and nothing is left
//! out.

use std::collections::HashMap;

use crosstie_model::{Finding, FindingRef, Severity};

use crate::{Check, Explains, Same, Site};

/// A finding, and where it is.
pub(crate) struct Placed {
    pub(crate) check: &'static Check,
    /// The node that it is on; none for one of the cluster.
    pub(crate) host: Option<usize>,
    pub(crate) finding: Finding,
    pub(crate) sites: Vec<Site>,
    pub(crate) felt_elsewhere: bool,
}

/// A cage, as node and cage.
type End = (String, String);

/// The other ends of each cage's cables.
#[derive(Debug, Default)]
pub(crate) struct Cables {
    others: HashMap<End, Vec<End>>,
}

impl Cables {
    pub(crate) fn join(&mut self, a: End, b: End) {
        for (from, to) in [(a.clone(), b.clone()), (b, a)] {
            let others = self.others.entry(from).or_default();
            if !others.contains(&to) {
                others.push(to);
            }
        }
    }

    fn others(&self, site: &Site) -> &[End] {
        let end = site
            .cage
            .as_ref()
            .map(|cage| (site.node.clone(), cage.clone()));
        end.and_then(|end| self.others.get(&end))
            .map_or(&[], Vec::as_slice)
    }
}

/// Gives each finding its cause. `hosts` are the names of the nodes.
pub(crate) fn settle(found: &mut [Placed], hosts: &[String], cables: &Cables) {
    let causes = forest(found, cables);
    let references: Vec<Option<FindingRef>> = causes
        .into_iter()
        .map(|cause| {
            let cause = &found[cause?];
            Some(FindingRef {
                host: cause.host.map(|host| hosts[host].clone()),
                id: cause.finding.id.clone(),
                subject: cause.finding.subject.clone(),
            })
        })
        .collect();
    for (placed, cause) in found.iter_mut().zip(references) {
        placed.finding.caused_by = cause;
    }
}

/// The place of each finding's cause in the list.
fn forest(found: &[Placed], cables: &Cables) -> Vec<Option<usize>> {
    let mut by_node: HashMap<(&str, &str), Vec<usize>> = HashMap::new();
    for (index, placed) in found.iter().enumerate() {
        // What is no alarm is no explanation of one.
        if placed.finding.severity == Severity::Info {
            continue;
        }
        for site in &placed.sites {
            let list = by_node.entry((placed.check.id, &site.node)).or_default();
            if list.last() != Some(&index) {
                list.push(index);
            }
        }
    }
    let mut causes: Vec<Option<usize>> = vec![None; found.len()];
    for (index, placed) in found.iter().enumerate() {
        let rules = placed.check.explained_by.iter();
        let mut fitting = rules.flat_map(|rule| {
            let nodes = nodes_of(rule, placed, cables);
            let near = nodes
                .into_iter()
                .flat_map(|node| by_node.get(&(rule.id, node)))
                .flatten()
                .copied();
            near.filter(|cause| is_cause(rule, &found[*cause], placed, cables))
        });
        causes[index] = fitting.find(|cause| *cause != index && !leads_to(&causes, *cause, index));
    }
    causes
}

/// Whether following causes from one finding comes to another: that one cannot be its consequence as well.
fn leads_to(causes: &[Option<usize>], from: usize, to: usize) -> bool {
    let mut at = Some(from);
    while let Some(index) = at {
        if index == to {
            return true;
        }
        at = causes[index];
    }
    false
}

/// Where a cause can be: on the finding's own nodes, or at the other ends of its cables.
fn nodes_of<'a>(rule: &Explains, effect: &'a Placed, cables: &'a Cables) -> Vec<&'a str> {
    let own = effect.sites.iter().map(|site| site.node.as_str());
    let far = || {
        let sites = effect.sites.iter();
        sites.flat_map(|site| cables.others(site).iter().map(|(node, _)| node.as_str()))
    };
    let mut nodes: Vec<&str> = match rule.over {
        Same::Node | Same::Port | Same::Cage => own.collect(),
        Same::Cable => own.chain(far()).collect(),
        Same::FarEnd | Same::Peer => far().collect(),
    };
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

fn is_cause(rule: &Explains, cause: &Placed, effect: &Placed, cables: &Cables) -> bool {
    // Two of one kind: the one that is felt elsewhere explains what is felt.
    if cause.check.id == effect.check.id && (!cause.felt_elsewhere || effect.felt_elsewhere) {
        return false;
    }
    let mut pairs = cause
        .sites
        .iter()
        .flat_map(|cause| effect.sites.iter().map(move |effect| (cause, effect)));
    pairs.any(|(cause, effect)| agree(rule.over, cause, effect, cables))
}

fn agree(over: Same, cause: &Site, effect: &Site, cables: &Cables) -> bool {
    let same_node = cause.node == effect.node;
    let same_cage = same_node && cause.cage.is_some() && cause.cage == effect.cage;
    let across = || {
        let mut others = cables.others(effect).iter();
        others.any(|(node, cage)| *node == cause.node && Some(cage) == cause.cage.as_ref())
    };
    match over {
        Same::Node => same_node,
        Same::Port => {
            let whole = cause.port.is_none() || effect.port.is_none();
            same_cage && (whole || cause.port == effect.port)
        }
        Same::Cage => same_cage,
        Same::Cable => same_cage || across(),
        Same::FarEnd => across(),
        Same::Peer => {
            let mut others = cables.others(effect).iter();
            cause.cage.is_none() && others.any(|(node, _)| *node == cause.node)
        }
    }
}
