//! One of two twins is used.

use std::collections::{BTreeMap, BTreeSet};

use crosstie_doctor::CheckHit;
use crosstie_fabric::cages;
use crosstie_model::{Facts, Severity};

use crate::{
    message::NcclDevice,
    report::NcclTransport,
    run::NcclRun,
    state::{HostId, ObservationKind},
};

/// A twin, and where it is known from.
type Twin = (String, String);

pub(super) fn fire(run: &NcclRun) -> Vec<CheckHit> {
    let devices = roce_devices(run);
    let mut single: BTreeMap<HostId, Twin> = BTreeMap::new();
    for (host, names) in &devices {
        let mut names = names.iter();
        if let (Some(only), None) = (names.next(), names.next()) {
            let twin =
                twin_in_facts(run, *host, only).or_else(|| twin_in_log(run, &devices, *host, only));
            if let Some(twin) = twin {
                single.insert(*host, twin);
            }
        }
    }
    let mut seen = run.seen(|kind| kind == ObservationKind::InfinibandDevices);
    seen.retain(|(_, host, _)| single.contains_key(host));
    if seen.is_empty() {
        return Vec::new();
    }
    let mut hit = run.hit(Severity::Warning, &seen);
    for (host, (twin, source)) in single.iter().take(4) {
        let name = run.state.hosts.get(*host);
        hit = hit.saw(
            format!("twin of {name} that is not used"),
            twin,
            source.clone(),
        );
    }
    vec![hit]
}

/// The physical RoCE devices that each host listed, in any of its processes.
fn roce_devices<'a>(run: &NcclRun<'a>) -> BTreeMap<HostId, BTreeSet<&'a str>> {
    let mut devices: BTreeMap<HostId, BTreeSet<&str>> = BTreeMap::new();
    for process in &run.processes {
        let host = run.state.processes[*process as usize].host;
        let listed = run.devices(*process, NcclTransport::Ib);
        if !listed.is_empty() && listed.iter().all(NcclDevice::is_roce) {
            devices
                .entry(host)
                .or_default()
                .extend(listed.iter().flat_map(NcclDevice::parts));
        }
    }
    devices
}

/// Another active member of the same cage. A host without facts of its own (a container's name) is judged by the nodes that
/// have such a device, if they agree.
fn twin_in_facts(run: &NcclRun, host: HostId, device: &str) -> Option<Twin> {
    let name = run.state.hosts.get(host);
    if let Some(own) = run.facts.iter().find(|facts| facts.host.name == name) {
        return active_twin(own, device).map(|twin| (twin, format!("the facts of {name}")));
    }
    let others = run
        .facts
        .iter()
        .filter(|facts| facts.rdma_device(device).is_some());
    let twins: Vec<Option<String>> = others.map(|facts| active_twin(facts, device)).collect();
    let first = twins.first()?.clone()?;
    let agreed = twins.iter().all(|twin| twin.as_ref() == Some(&first));
    agreed.then(|| {
        (
            first,
            "the facts of the nodes with such a device".to_owned(),
        )
    })
}

fn active_twin(facts: &Facts, device: &str) -> Option<String> {
    let cages = cages(facts, None);
    let cage = cages
        .iter()
        .find(|cage| cage.members.iter().any(|member| member.device == device))?;
    let others = cage.members.iter().filter(|member| member.device != device);
    others
        .filter_map(|member| facts.rdma_device(&member.device))
        .find(|other| {
            other
                .ports
                .iter()
                .any(crosstie_model::facts::rdma::RdmaPort::is_active)
        })
        .map(|other| other.name.clone())
}

/// Another host of the log uses the same device and, with it, its twin by name.
fn twin_in_log(
    run: &NcclRun,
    devices: &BTreeMap<HostId, BTreeSet<&str>>,
    host: HostId,
    device: &str,
) -> Option<Twin> {
    let others = devices
        .iter()
        .filter(|(other, names)| **other != host && names.contains(device));
    for (other, names) in others {
        if let Some(twin) = names.iter().find(|name| are_twins(name, device)) {
            return Some((
                (*twin).to_owned(),
                format!("the list of {}", run.state.hosts.get(*other)),
            ));
        }
    }
    None
}

/// `rocep1s0f1` and `roceP2p1s0f1`: the same bus, slot and function, in different PCI domains.
fn are_twins(one: &str, other: &str) -> bool {
    match (place(one), place(other)) {
        (Some((domain, rest)), Some((other_domain, other_rest))) => {
            rest == other_rest && domain != other_domain
        }
        _ => false,
    }
}

/// Domain and the rest of a name by PCI path (udev's `rdma_rename`, rdma-core).
fn place(name: &str) -> Option<(&str, &str)> {
    let path = name.strip_prefix("roce")?;
    match path.strip_prefix('P') {
        Some(path) => path.find('p').map(|at| path.split_at(at)),
        None => path.starts_with('p').then_some(("0", path)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twins_by_name() {
        assert!(are_twins("rocep1s0f1", "roceP2p1s0f1"));
        for (one, other) in [
            ("rocep1s0f1", "rocep1s0f0"),
            ("rocep1s0f1", "rocep1s0f1"),
            ("rocep1s0f1", "roceP2p1s0f0"),
            ("mlx5_0", "mlx5_1"),
        ] {
            assert!(!are_twins(one, other), "{one} {other}");
        }
    }
}
