//! Settings of engines for one node, each with its reason: names of devices and addresses differ between nodes.

mod management;
mod nccl;

use crosstie_model::{
    Facts,
    plan::{EngineKind, EngineSetting},
};
use ipnet::IpNet;

pub use management::{management_address, management_interface};

/// What settings are made of.
pub struct SettingsNode<'a> {
    pub facts: &'a Facts,
    /// Ports with an address, or of InfiniBand, in the order of their rails; each has a plain name.
    pub ports: Vec<SettingsPort>,
    /// Three or more nodes, and each pair meets in a subnet of its own.
    pub has_subnet_per_pair: bool,
    /// A ring in which not everyone is everyone's neighbour.
    pub is_long_ring: bool,
    /// Where a switch has a lossless priority for it.
    pub traffic_class: Option<EngineTrafficClass>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsPort {
    pub device: String,
    pub number: u32,
    pub infiniband: bool,
    pub address: Option<IpNet>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EngineTrafficClass {
    /// As it stands in the packet: DSCP and ECN.
    pub value: u8,
    pub dscp: u8,
    pub priority: u8,
}

/// The settings, and what a person should know about them.
pub fn settings(node: &SettingsNode) -> (Vec<EngineSetting>, Vec<String>) {
    let mut all = Settings::default();
    if node.ports.is_empty() {
        return (all.settings, all.notes);
    }
    nccl::add(&mut all, node);
    management::add(&mut all, node.facts);
    llama(&mut all, &node.ports);
    all.settings.sort_by_key(|setting| setting.engine);
    (all.settings, all.notes)
}

/// It takes the device that has the connection's own address. Where there are several, a pinned one would mean TCP on all
/// others, in silence.
fn llama(all: &mut Settings, ports: &[SettingsPort]) {
    if let [port] = ports {
        let why = "the only port on the fabric; its RPC falls back to TCP in silence otherwise";
        all.add(EngineKind::LlamaCpp, "GGML_RDMA_DEV", &port.device, why);
    }
}

#[derive(Default)]
struct Settings {
    settings: Vec<EngineSetting>,
    notes: Vec<String>,
}

impl Settings {
    fn add(&mut self, engine: EngineKind, name: &str, value: &str, why: &str) {
        self.settings.push(EngineSetting {
            engine,
            name: name.to_owned(),
            value: value.to_owned(),
            why: why.to_owned(),
        });
    }
}
