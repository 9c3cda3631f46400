//! What a run is taken of.

use std::cell::RefCell;

use crosstie_fabric::{
    carries_management,
    rails::{RailEnd, users},
};
use crosstie_grade::{groups::groups, record};
use crosstie_model::{
    ClusterSpec, Facts,
    run::{FORMAT, ProofMode, RunHeader, RunOptions},
};

use super::ProveOptions;

/// Of a bandwidth test: the smallest that is graded.
const MESSAGE_BYTES: u64 = 64 * 1024;
/// One queue pair does not fill every card.
const QUEUE_PAIRS: [u32; 2] = [1, 4];
/// A processor that emulates a card has no more to give to several.
const SOFTWARE_QUEUE_PAIRS: [u32; 1] = [1];

/// A port that was left alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedPort {
    pub host: String,
    pub device: String,
    pub reason: PortSkipReason,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PortSkipReason {
    #[error("{interface} carries management, and a test could cut it off")]
    CarriesManagement { interface: String },
    #[error("it is in use by {}", users.join(", "))]
    InUse { users: Vec<String> },
}

#[derive(Debug, thiserror::Error)]
pub enum Unmeasurable {
    #[error(
        "no two nodes share an RDMA rail: no active ports with addresses in one subnet; `crosstie doctor` tells why"
    )]
    NoRail,
    #[error("{}; pass --force to measure all the same", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Refused(Vec<SkippedPort>),
}

impl std::fmt::Display for SkippedPort {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            host,
            device,
            reason,
        } = self;
        write!(formatter, "{host}: {device} is not measured: {reason}")
    }
}

/// The header, and ports that are left alone; an error if no two ports are left.
pub(super) fn header(
    facts: &[Facts],
    spec: Option<&ClusterSpec>,
    options: &ProveOptions,
) -> Result<(RunHeader, Vec<SkippedPort>), Unmeasurable> {
    let refused: RefCell<Vec<SkippedPort>> = RefCell::default();
    let is_wanted = |facts: &Facts, end: &RailEnd| {
        let reason = (!options.force).then(|| refusal(facts, end)).flatten();
        let Some(reason) = reason else {
            return true;
        };
        let one = SkippedPort {
            host: facts.host.name.clone(),
            device: end.device.clone(),
            reason,
        };
        let mut refused = refused.borrow_mut();
        if !refused.contains(&one) {
            refused.push(one);
        }
        false
    };
    let groups = groups(facts, spec, &is_wanted);
    let refused = refused.into_inner();
    if groups.is_empty() {
        return Err(if refused.is_empty() {
            Unmeasurable::NoRail
        } else {
            Unmeasurable::Refused(refused)
        });
    }
    let nodes: Vec<_> = facts
        .iter()
        .map(|facts| record::node(facts, spec))
        .collect();
    let mut ports = nodes.iter().flat_map(|node| &node.ports);
    let queue_pairs = if ports.all(|port| port.software) {
        SOFTWARE_QUEUE_PAIRS.to_vec()
    } else {
        QUEUE_PAIRS.to_vec()
    };
    let header = RunHeader {
        format: FORMAT,
        started: crosstie_node::now(),
        crosstie: env!("CARGO_PKG_VERSION").to_owned(),
        cluster: spec.map(|spec| spec.name.clone()),
        options: RunOptions {
            mode: options.mode,
            test_milliseconds: u32::try_from(options.test_time.as_millis()).unwrap_or(u32::MAX),
            sizes: vec![MESSAGE_BYTES],
            queue_pairs,
            rate_gbps: spec.and_then(|spec| spec.fabric.rate_gbps),
        },
        nodes,
        cabling: spec.map(|spec| spec.cables.clone()).unwrap_or_default(),
        groups,
    };
    Ok((header, refused))
}

/// Why a test here would do harm.
fn refusal(facts: &Facts, end: &RailEnd) -> Option<PortSkipReason> {
    if let Some(interface) = &end.interface
        && carries_management(facts, interface)
    {
        return Some(PortSkipReason::CarriesManagement {
            interface: interface.clone(),
        });
    }
    let users = users(facts, &end.device);
    (!users.is_empty()).then_some(PortSkipReason::InUse { users })
}

impl ProveOptions {
    /// For one of the three modes, with its usual time a test.
    pub fn usual(mode: ProofMode) -> Self {
        let milliseconds = match mode {
            ProofMode::Quick => 500,
            ProofMode::Full | ProofMode::Soak { .. } => 2000,
        };
        Self {
            mode,
            test_time: std::time::Duration::from_millis(milliseconds),
            force: false,
            report: true,
        }
    }
}
