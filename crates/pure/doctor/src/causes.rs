//! Which finding explains which: a forest, whose roots are what to mend.
//!
//! Each check declares what may lie behind it and over what the two must agree. Here those rules meet the findings of one
//! examination: every finding gets at most one cause, a cause is a finding of the same examination, and nothing is left
//! out.

use std::collections::HashMap;

use crosstie_model::{Finding, FindingRef, Severity};

use crate::{CauseRule, CauseScope, Check, FindingSite};

/// A finding, and where it is.
pub(crate) struct LocatedFinding {
    pub(crate) check: &'static Check,
    /// The node that it is on; none for one of the cluster.
    pub(crate) host: Option<usize>,
    pub(crate) finding: Finding,
    pub(crate) sites: Vec<FindingSite>,
    pub(crate) felt_elsewhere: bool,
}

/// A cage, as node and cage.
type End = (String, String);

/// The other ends of each cage's cables.
#[derive(Debug, Default)]
pub(crate) struct CableIndex {
    others: HashMap<End, Vec<End>>,
}

impl CableIndex {
    pub(crate) fn join(&mut self, a: End, b: End) {
        for (from, to) in [(a.clone(), b.clone()), (b, a)] {
            let others = self.others.entry(from).or_default();
            if !others.contains(&to) {
                others.push(to);
            }
        }
    }

    fn others(&self, site: &FindingSite) -> &[End] {
        let end = site
            .cage
            .as_ref()
            .map(|cage| (site.node.clone(), cage.clone()));
        end.and_then(|end| self.others.get(&end))
            .map_or(&[], Vec::as_slice)
    }
}

/// Gives each finding its cause. `hosts` are the names of the nodes.
pub(crate) fn assign_causes(found: &mut [LocatedFinding], hosts: &[String], cables: &CableIndex) {
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
fn forest(found: &[LocatedFinding], cables: &CableIndex) -> Vec<Option<usize>> {
    let index = Index::new(found);
    let mut causes: Vec<Option<usize>> = vec![None; found.len()];
    for (place, placed) in found.iter().enumerate() {
        let rules = placed.check.explained_by.iter();
        let mut fitting = rules.flat_map(|rule| {
            let near = index.near(rule, placed, cables).into_iter();
            near.filter(|cause| is_cause(rule, &found[*cause], placed, cables))
        });
        causes[place] = fitting.find(|cause| *cause != place && !leads_to(&causes, *cause, place));
    }
    causes
}

/// A made-up node has thousands of ports in one cage; a real one has two.
const MOST_CANDIDATES: usize = 256;

/// Findings that may explain others, by their id and where they are.
struct Index<'a> {
    by_node: HashMap<(&'a str, &'a str), Vec<usize>>,
    by_cage: HashMap<(&'a str, &'a str, &'a str), Vec<usize>>,
}

impl<'a> Index<'a> {
    fn new(found: &'a [LocatedFinding]) -> Self {
        let (mut by_node, mut by_cage) = (HashMap::new(), HashMap::new());
        let add = |list: &mut Vec<usize>, place: usize| {
            if list.last() != Some(&place) {
                list.push(place);
            }
        };
        for (place, placed) in found.iter().enumerate() {
            // What is no alarm is no explanation of one.
            if placed.finding.severity == Severity::Info {
                continue;
            }
            for FindingSite { node, cage, .. } in &placed.sites {
                let id = placed.check.id;
                add(by_node.entry((id, node.as_str())).or_default(), place);
                if let Some(cage) = cage {
                    let key = (id, node.as_str(), cage.as_str());
                    add(by_cage.entry(key).or_default(), place);
                }
            }
        }
        Self { by_node, by_cage }
    }

    /// Those that a rule may mean: on the finding's own node or cage, or at the other ends of its cables.
    fn near<'s>(
        &'s self,
        rule: &CauseRule,
        effect: &'s LocatedFinding,
        cables: &'s CableIndex,
    ) -> Vec<usize> {
        let on = |node: &'s str| self.by_node.get(&(rule.id, node));
        let at = |node: &'s str, cage: &'s str| self.by_cage.get(&(rule.id, node, cage));
        let mut lists: Vec<Option<&Vec<usize>>> = Vec::new();
        for site in &effect.sites {
            let own = || at(&site.node, site.cage.as_deref()?);
            let far = || cables.others(site).iter();
            match rule.over {
                CauseScope::Node | CauseScope::EveryNode => lists.push(on(&site.node)),
                CauseScope::Port | CauseScope::Cage => lists.push(own()),
                CauseScope::Cable => {
                    lists.push(own());
                    lists.extend(far().map(|(node, cage)| at(node, cage)));
                }
                CauseScope::FarEnd => lists.extend(far().map(|(node, cage)| at(node, cage))),
                CauseScope::Peer => lists.extend(far().map(|(node, _)| on(node))),
            }
        }
        let found = lists.into_iter().flatten().flatten();
        found.copied().take(MOST_CANDIDATES).collect()
    }
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

fn is_cause(
    rule: &CauseRule,
    cause: &LocatedFinding,
    effect: &LocatedFinding,
    cables: &CableIndex,
) -> bool {
    // Two of one kind: the one that is felt elsewhere explains what is felt.
    if cause.check.id == effect.check.id && (!cause.felt_elsewhere || effect.felt_elsewhere) {
        return false;
    }
    if rule.over == CauseScope::EveryNode {
        let is_there =
            |effect: &FindingSite| cause.sites.iter().any(|cause| cause.node == effect.node);
        return effect.sites.iter().all(is_there);
    }
    let mut pairs = cause
        .sites
        .iter()
        .flat_map(|cause| effect.sites.iter().map(move |effect| (cause, effect)));
    pairs.any(|(cause, effect)| agree(rule.over, cause, effect, cables))
}

fn agree(over: CauseScope, cause: &FindingSite, effect: &FindingSite, cables: &CableIndex) -> bool {
    let same_node = cause.node == effect.node;
    let same_cage = same_node && cause.cage.is_some() && cause.cage == effect.cage;
    let across = || {
        let mut others = cables.others(effect).iter();
        others.any(|(node, cage)| *node == cause.node && Some(cage) == cause.cage.as_ref())
    };
    match over {
        CauseScope::Node | CauseScope::EveryNode => same_node,
        CauseScope::Port => {
            let whole = cause.port.is_none() || effect.port.is_none();
            same_cage && (whole || cause.port == effect.port)
        }
        CauseScope::Cage => same_cage,
        CauseScope::Cable => same_cage || across(),
        CauseScope::FarEnd => across(),
        CauseScope::Peer => {
            let mut others = cables.others(effect).iter();
            cause.cage.is_none() && others.any(|(node, _)| *node == cause.node)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use proptest::prelude::*;

    use super::*;
    use crate::{CheckHit, checks};

    /// Where rules alone go in no circle, findings cannot.
    #[test]
    fn no_check_explains_itself_by_way_of_others() {
        let behind: HashMap<&str, Vec<&str>> = checks::all()
            .map(|check| {
                let causes = check.explained_by.iter().map(|rule| rule.id);
                (check.id, causes.filter(|id| *id != check.id).collect())
            })
            .collect();
        for check in checks::all() {
            let mut frontier = behind[check.id].clone();
            let mut seen = HashSet::new();
            while let Some(id) = frontier.pop() {
                assert_ne!(id, check.id, "{id} lies behind itself");
                if seen.insert(id) {
                    frontier.extend(&behind[id]);
                }
            }
        }
    }

    fn site() -> impl Strategy<Value = FindingSite> {
        let place = (
            0..4_usize,
            prop::option::of((0..2_usize, prop::option::of(1..3_u32))),
        );
        place.prop_map(|(node, cage)| FindingSite {
            node: format!("node-{node}"),
            cage: cage.map(|(cage, _)| format!("p{cage}")),
            port: cage.and_then(|(cage, port)| Some((format!("mlx5_{cage}"), port?))),
        })
    }

    fn placed() -> impl Strategy<Value = LocatedFinding> {
        let sites = prop::collection::vec(site(), 1..3);
        let severity =
            prop::sample::select(vec![Severity::Fault, Severity::Warning, Severity::Info]);
        let check = any::<prop::sample::Index>();
        (check, sites, severity, any::<bool>()).prop_map(|(check, sites, severity, felt)| {
            let all: Vec<&'static Check> = checks::all().collect();
            let check = *check.get(&all);
            let subject = format!("{sites:?}");
            LocatedFinding {
                check,
                host: None,
                finding: CheckHit::new(severity, subject).finding(check),
                sites,
                felt_elsewhere: felt,
            }
        })
    }

    impl std::fmt::Debug for LocatedFinding {
        fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(formatter, "{} at {:?}", self.check.id, self.sites)
        }
    }

    proptest! {
        #[test]
        fn whatever_is_found_where_is_a_forest(
            found in prop::collection::vec(placed(), 0..60),
            joints in prop::collection::vec(((0..4_usize, 0..2_usize), (0..4_usize, 0..2_usize)), 0..5),
        ) {
            let mut cables = CableIndex::default();
            let end = |(node, cage): (usize, usize)| (format!("node-{node}"), format!("p{cage}"));
            for (a, b) in joints {
                cables.join(end(a), end(b));
            }
            let causes = forest(&found, &cables);
            for (index, cause) in causes.iter().enumerate() {
                let Some(cause) = *cause else { continue };
                prop_assert!(!leads_to(&causes, cause, index));
                prop_assert!(found[cause].finding.severity != Severity::Info);
                let rules = found[index].check.explained_by;
                let fits = rules.iter().any(|rule| {
                    rule.id == found[cause].check.id
                        && is_cause(rule, &found[cause], &found[index], &cables)
                });
                prop_assert!(fits);
            }
        }
    }
}
