//! Whose files an interface is written in: those of the manager that really runs it.

use crosstie_model::{
    Facts, Renderer,
    facts::net::{Interface, Manager},
    plan::PlanRefusal,
};

use super::{GENERATORS, generator};

pub(crate) fn choose(facts: &Facts, interface: &Interface) -> Result<Renderer, PlanRefusal> {
    let mut generators = GENERATORS.iter().copied();
    let used = generators.find(|one| generator(*one).is_used(facts));
    let manager = match &interface.manager {
        Manager::Nobody | Manager::Unknown => {
            let default = used.map(|one| generator(one).default_manager());
            likely(facts, default).ok_or_else(|| PlanRefusal::NoManager {
                interface: interface.name.clone(),
            })?
        }
        known => known.clone(),
    };
    // A manager that the generator makes nothing for has files of its own.
    let renderer = Renderer::of(used, &manager).or_else(|| Renderer::of(None, &manager));
    renderer.ok_or_else(|| match manager.refusal(&interface.name) {
        Some(refusal) => refusal,
        None => PlanRefusal::NoManager {
            interface: interface.name.clone(),
        },
    })
}

/// Nobody claims the interface: whoever is there may have it, and the one that a generator's files name comes first. A capture without
/// services tells nothing of them; then it is that one too, or the generator's `default`.
fn likely(facts: &Facts, default: Option<Manager>) -> Option<Manager> {
    let mut generators = GENERATORS.iter().copied();
    let named = generators.find_map(|one| generator(one).named(facts));
    let running: Vec<&Manager> = Manager::WRITTEN
        .iter()
        .filter(|manager| manager.is_running(facts))
        .collect();
    let named_runs = named.as_ref().filter(|named| running.contains(named));
    let is_untold = facts.software.services.is_empty();
    match named_runs.or(running.last().copied()) {
        Some(running) => Some(running.clone()),
        None if is_untold => default.map(|default| named.unwrap_or(default)),
        None => None,
    }
}
