//! A clock that nobody sets is set by the time service that is installed.

use crosstie_model::{
    Facts, PlanStep,
    plan::{TimeService, ValueChange},
};

/// A container has its host's clock.
pub(super) fn step(facts: &Facts) -> Option<PlanStep> {
    let system = &facts.system;
    let is_off = system.time_service_on.known() == Some(&false);
    let is_installed = system.time_service_installed.known() == Some(&true);
    let known = facts.distribution().time_services.services;
    let sets_clock = |service: &String| known.iter().any(|one| service.starts_with(one));
    let is_set_otherwise = facts.software.services.iter().any(sets_clock);
    let is_own = system.container.known().is_none();
    (is_off && is_installed && is_own && !is_set_otherwise).then_some(PlanStep::from(TimeService {
        on: ValueChange {
            from: false,
            to: true,
        },
    }))
}
