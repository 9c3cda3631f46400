//! What would be changed on each node, with its rollback.

mod boot;
mod change;
mod refusal;
mod step;

use ipnet::IpNet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::renderer::Renderer;
pub use boot::{BootFileParseError, BootPortSettings, BootUnitSettings};
pub use change::ValueChange;
pub use refusal::PlanRefusal;
// All of them: a step that is added is in the list of `step` alone.
pub use step::*;

/// Version of the format that this build writes.
pub const FORMAT: u32 = 1;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClusterPlan {
    pub format: u32,
    /// The cluster's name.
    pub cluster: String,
    pub nodes: Vec<NodePlan>,
    /// Nodes of the cluster file that nothing was read of.
    pub missing: Vec<String>,
    /// What each switch must be set to, so that both ends agree.
    pub switches: Vec<SwitchSettings>,
}

impl ClusterPlan {
    pub fn is_refused(&self) -> bool {
        self.nodes.iter().any(|node| !node.refusals.is_empty())
    }

    pub fn has_work(&self) -> bool {
        self.nodes.iter().any(|node| !node.steps.is_empty())
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodePlan {
    #[serde(rename = "host")]
    pub node: String,
    /// `area=digest` of the facts that the plan was made from, but those that change by themselves: when another one has
    /// changed, the plan is stale.
    pub basis: String,
    /// Why nothing may be done. The steps are what would be done otherwise.
    pub refusals: Vec<PlanRefusal>,
    /// In the order in which they are done. They are undone in the reverse order.
    pub steps: Vec<PlanStep>,
    pub notes: Vec<String>,
    pub addresses: Vec<FabricAddress>,
    /// For NCCL, UCX, Gloo, Open MPI, Ray, vLLM, `SGLang` and llama.cpp on this node.
    pub settings: Vec<EngineSetting>,
}

impl NodePlan {
    /// Whether both come to the same: they may have been made of other facts, and notes are for people.
    pub fn is_same_work(&self, other: &Self) -> bool {
        let Self {
            node,
            basis: _,
            refusals,
            steps,
            notes: _,
            addresses,
            settings,
        } = self;
        (node, refusals, steps, addresses, settings)
            == (
                &other.node,
                &other.refusals,
                &other.steps,
                &other.addresses,
                &other.settings,
            )
    }

    /// The steps of a rollback, in order.
    pub fn undo(&self) -> Vec<PlanStep> {
        self.steps.iter().rev().map(PlanStep::undo).collect()
    }
}

/// An address that a port has, or gets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FabricAddress {
    pub cage: String,
    pub interface: String,
    /// The RDMA device.
    pub device: String,
    /// Which of the subnets of its cable or plane.
    pub rail: u32,
    #[schemars(with = "String")]
    pub address: IpNet,
    /// The nodes that are in the same subnet.
    pub peers: Vec<String>,
}

/// One variable of an engine's environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EngineSetting {
    pub engine: EngineKind,
    pub name: String,
    pub value: String,
    pub why: String,
}

#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum EngineKind {
    Nccl,
    Ucx,
    Gloo,
    OpenMpi,
    Ray,
    Vllm,
    Sglang,
    LlamaCpp,
    /// Not ours: what a person added.
    Custom,
}

/// The other end of quality of service, for whoever runs the switch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SwitchSettings {
    pub plane: String,
    pub summary: Vec<String>,
    /// For NVIDIA Cumulus Linux, by NVUE.
    pub cumulus: Vec<String>,
    /// For `SONiC`.
    pub sonic: Vec<String>,
}
