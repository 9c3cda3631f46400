//! The nodes of a job, in the order of its ranks, from the cluster file and facts.

use std::time::{SystemTime, UNIX_EPOCH};

use crosstie_doctor::{CheckSelection, Diagnosis, clock::milliseconds};
use crosstie_launch::{
    job::{JobNode, JobPort},
    preflight::LaunchObstacle,
    settings::{management_address, management_interface},
};
use crosstie_model::{ClusterSpec, Facts, Finding, Severity, is_plain};
use crosstie_plan::{CableTarget, PlannedWiring, WiredPort};
use crosstie_report::suggested_command::CommandContext;

use super::{LaunchError, LaunchOptions};
use crate::{
    Fleet, FleetSnapshot, RequestedTargets, TargetNodes,
    doctor::examine,
    env::{custom, with_custom},
    plan::{self, PlanError},
    runs,
};

/// The check of ports without any address.
const UNADDRESSED: &str = "fabric-unaddressed";

/// A proof that is older is mentioned.
const OLD_DAYS: i64 = 30;

/// What is known before anything is asked.
pub(super) struct JobNodes {
    pub(super) cluster: String,
    /// Absent where captures stand for the nodes.
    pub(super) fleet: Option<Fleet>,
    /// By rank.
    pub(super) nodes: Vec<JobNode>,
    /// By rank: the place in the fleet.
    pub(super) places: Vec<usize>,
    pub(super) obstacles: Vec<LaunchObstacle>,
    pub(super) notes: Vec<String>,
}

pub(super) fn read(
    targets: &RequestedTargets,
    options: &LaunchOptions,
) -> Result<JobNodes, LaunchError> {
    if !targets.from.is_empty() {
        let (spec, facts, unread) = plan::read_planned(targets)?;
        if !unread.0.is_empty() {
            return Err(LaunchError::Nodes(unread));
        }
        return assemble(&spec, &facts, None, targets, options);
    }
    let found = plan::find(targets)?;
    let TargetNodes::Live(fleet) = found.nodes else {
        return Err(crate::TargetsError::Captures.into());
    };
    let snapshot = FleetSnapshot::take(&fleet);
    let diagnosis = examine(&snapshot, &[], Some(&found.spec), CheckSelection::default());
    let known = snapshot.known()?;
    let facts: Vec<Facts> = known.iter().map(|node| (*node.facts).clone()).collect();
    let mut job = assemble(&found.spec, &facts, Some(fleet), targets, options)?;
    let faults = faults(&diagnosis, &job.obstacles, &targets.options.offer);
    if options.force {
        let said = faults
            .iter()
            .map(|fault| format!("{}: {}", fault.host, fault.what));
        job.notes.extend(said);
    } else {
        job.obstacles.extend(faults);
    }
    job.notes.extend(proof(&found.spec));
    Ok(job)
}

fn assemble(
    spec: &ClusterSpec,
    facts: &[Facts],
    fleet: Option<Fleet>,
    targets: &RequestedTargets,
    options: &LaunchOptions,
) -> Result<JobNodes, LaunchError> {
    let custom = custom(&options.set)?;
    let wiring = PlannedWiring::new(spec, facts);
    let wiring = wiring
        .map_err(|faults| PlanError::FaultsOfLab(crosstie_plan::InvalidSpecError { faults }))?;
    let mut obstacles = Vec::new();
    let mut notes = Vec::new();
    let mut ranked: Vec<(usize, JobNode)> = Vec::new();
    for node in &wiring.nodes {
        let (settings, said) = crosstie_plan::settings(&wiring, node);
        let host = node.facts.host.name.clone();
        notes.extend(said.into_iter().map(|note| format!("{host}: {note}")));
        let usable = |port: &&WiredPort| {
            (port.address.is_some() || port.infiniband) && is_plain(&port.device)
        };
        let ports = node.ports.iter().filter(usable);
        if fleet.is_some() {
            let offer = &targets.options.offer;
            let missing = ports
                .clone()
                .filter_map(|port| missing(node.facts, port, offer));
            obstacles.extend(missing);
        }
        let place = facts.iter().position(|facts| facts.host.name == host);
        let job = JobNode {
            ports: ports.map(|port| job_port(spec, &host, port)).collect(),
            management: management_interface(node.facts).zip(management_address(node.facts)),
            settings: with_custom(&settings, &custom),
            memory: gpu_memory(node.facts),
            has_gpus: node.facts.gpus.iter().next().is_some(),
            program: None,
            options: Vec::new(),
            host,
        };
        ranked.push((place.unwrap_or(0), job));
    }
    if let Some(head) = &options.head {
        let place = ranked.iter().position(|(_, node)| node.host == *head);
        let place = place.ok_or_else(|| LaunchError::NoHead(head.clone()))?;
        ranked[..=place].rotate_right(1);
    }
    let (places, ranked) = ranked.into_iter().unzip();
    Ok(JobNodes {
        cluster: spec.name.clone(),
        fleet,
        nodes: ranked,
        places,
        obstacles,
        notes,
    })
}

/// Of cards with memory of their own; where CPU and GPU share one, what is free of it is asked of the node.
fn gpu_memory(facts: &Facts) -> Option<u64> {
    let memory: Option<Vec<u64>> = facts
        .gpus
        .iter()
        .map(|gpu| gpu.memory.known().map(|bytes| bytes.0))
        .collect();
    memory
        .map(|memory| memory.iter().sum())
        .filter(|sum| *sum > 0)
}

fn job_port(spec: &ClusterSpec, host: &str, port: &WiredPort) -> JobPort {
    let cable = match &port.joined {
        CableTarget::Cable(number) => {
            let mut cables = spec.direct_cables();
            let cable = cables.find(|(_, found, ..)| found == number);
            cable.map(|(_, _, a, b)| format!("{a} ↔ {b}"))
        }
        CableTarget::Plane(plane) => Some(format!("{host}:{} ↔ {plane}", port.cage)),
    };
    JobPort {
        device: port.device.clone(),
        number: port.number,
        interface: port.interface.clone(),
        address: port.address,
        cable: cable.unwrap_or_else(|| format!("{host}:{}", port.cage)),
    }
}

/// An address that the cluster file plans and the node does not have.
fn missing(facts: &Facts, port: &WiredPort, offer: &CommandContext) -> Option<LaunchObstacle> {
    let address = port.address?;
    let interface = port.interface.as_deref()?;
    let set = facts.network.interface(interface);
    let has = set.is_some_and(|set| set.addresses.iter().any(|found| found.net == address));
    (!has).then(|| LaunchObstacle {
        host: facts.host.name.clone(),
        what: format!("{interface} lacks its address of the fabric"),
        evidence: format!("the cluster file plans {address}"),
        fix: offer.completed("`crosstie up`, or `crosstie apply`"),
    })
}

/// Faults that nothing else explains. Of a node that lacks its planned `addresses`, that is told already.
fn faults(
    diagnosis: &Diagnosis,
    addresses: &[LaunchObstacle],
    offer: &CommandContext,
) -> Vec<LaunchObstacle> {
    let of = |host: &str, finding: &Finding| {
        let is_told = finding.id == UNADDRESSED && addresses.iter().any(|one| one.host == host);
        let is_root = finding.severity == Severity::Fault && finding.caused_by.is_none();
        let evidence = finding.evidence.iter();
        let evidence: Vec<String> = evidence
            .map(|seen| format!("{} {}", seen.what, seen.value))
            .collect();
        (is_root && !is_told).then(|| LaunchObstacle {
            host: host.to_owned(),
            what: format!("{} ({})", finding.id, finding.subject),
            evidence: evidence.join(", "),
            fix: offer.completed(&sentence(finding)),
        })
    };
    let nodes = diagnosis.nodes.iter().flat_map(|node| {
        let findings = node.findings.iter();
        findings.filter_map(|finding| of(&node.host, finding))
    });
    let cluster = diagnosis.cluster.iter();
    let cluster = cluster.filter_map(|finding| of("the cluster", finding));
    nodes.chain(cluster).collect()
}

/// What to do, in one line: the advice, then its commands.
fn sentence(finding: &Finding) -> String {
    let commands: Vec<String> = finding
        .commands
        .iter()
        .map(|command| format!("`{command}`"))
        .collect();
    let advice = finding.fix.lines().count() - finding.commands.len();
    let advice: Vec<&str> = finding.fix.lines().take(advice).collect();
    let commands = if commands.is_empty() {
        String::new()
    } else {
        format!(" Run {}.", commands.join(", then "))
    };
    format!(
        "{}{commands} `--force` starts in spite of it",
        advice.join(" ")
    )
}

/// Whether the fabric was measured, and when.
fn proof(spec: &ClusterSpec) -> Option<String> {
    let never = "this fabric was never proven: `crosstie prove` measures it".to_owned();
    let Ok(path) = runs::newest_run(&spec.name) else {
        return Some(never);
    };
    let run = runs::read_run(&path).ok()?;
    let then = milliseconds(&run.header.started)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    let days = (i64::try_from(now.as_millis()).ok()? - then) / 86_400_000;
    (days >= OLD_DAYS).then(|| {
        format!("this fabric was proven {days} days ago: `crosstie prove --quick` shows whether that still holds")
    })
}

#[cfg(test)]
mod tests {
    use crosstie_doctor::NodeFindings;

    use super::*;

    fn finding(id: &str, fix: &str, commands: &[&str]) -> Finding {
        Finding {
            id: id.to_owned(),
            severity: Severity::Fault,
            subject: "p0".to_owned(),
            evidence: Vec::new(),
            cause: String::new(),
            fix: [&[fix], commands].concat().join("\n"),
            commands: commands.iter().map(|&one| one.to_owned()).collect(),
            caused_by: None,
        }
    }

    #[test]
    fn a_fix_is_one_sentence_and_lost_addresses_are_told_once() {
        let diagnosis = Diagnosis {
            nodes: vec![NodeFindings {
                host: "spark-a".to_owned(),
                error: None,
                findings: vec![
                    finding(UNADDRESSED, "Plan: `crosstie plan`.", &[]),
                    finding(
                        "fabric-port-down",
                        "See (`rdma link`).",
                        &["sudo ip link set p0 up"],
                    ),
                ],
                notes: Vec::new(),
            }],
            cluster: vec![finding("cable-dead", "Run `crosstie init` again.", &[])],
        };
        let offer = CommandContext {
            lab: Some("x".to_owned()),
            ..CommandContext::default()
        };
        let addresses = [LaunchObstacle {
            host: "spark-a".to_owned(),
            what: String::new(),
            evidence: String::new(),
            fix: String::new(),
        }];
        let fixes = |addresses: &[LaunchObstacle]| -> Vec<String> {
            let all = faults(&diagnosis, addresses, &offer);
            all.into_iter().map(|one| one.fix).collect()
        };
        assert_eq!(
            fixes(&addresses),
            [
                "See (`rdma link`). Run `sudo ip link set p0 up`. `--force` starts in spite of it",
                "Run `crosstie init --lab x` again. `--force` starts in spite of it"
            ]
        );
        assert_eq!(fixes(&[]).len(), 3);
    }
}
