//! What a person asks for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LaunchEngine {
    Llama,
    Torchrun,
    Mpirun,
}

impl LaunchEngine {
    pub fn name(self) -> &'static str {
        match self {
            Self::Llama => "llama",
            Self::Torchrun => "torchrun",
            Self::Mpirun => "mpirun",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Workload {
    Llama(LlamaWorkload),
    Torchrun(TorchrunWorkload),
    Mpirun(MpirunWorkload),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LlamaWorkload {
    /// On the head; the others are sent their layers.
    pub model: String,
    /// Layers of the model, where its file tells.
    pub layers: Option<u32>,
    /// Generate once and end; absent: serve.
    pub prompt: Option<String>,
    pub tokens: u32,
    pub context: u32,
    /// Of the RPC servers.
    pub rpc_port: u16,
    /// Where llama-server listens, on the head's loopback address unless told.
    pub listen: std::net::SocketAddr,
    /// Over management, where it falls to TCP: for those who want to see that.
    pub allow_tcp: bool,
    /// Further arguments of the head's program.
    pub arguments: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TorchrunWorkload {
    pub script: String,
    pub arguments: Vec<String>,
    pub processes_per_node: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MpirunWorkload {
    pub command: Vec<String>,
    pub processes_per_node: u32,
    /// Plain TCP over the fabric instead of UCX.
    pub allow_tcp: bool,
}

impl Workload {
    pub fn engine(&self) -> LaunchEngine {
        match self {
            Self::Llama(_) => LaunchEngine::Llama,
            Self::Torchrun(_) => LaunchEngine::Torchrun,
            Self::Mpirun(_) => LaunchEngine::Mpirun,
        }
    }

    /// What the node at this place runs, as a person calls it.
    pub fn program(&self, rank: usize) -> &'static str {
        match self {
            Self::Llama(_) if rank > 0 => "ggml-rpc-server",
            Self::Llama(llama) if llama.prompt.is_some() => "llama-completion",
            Self::Llama(_) => "llama-server",
            Self::Torchrun(_) => "torchrun",
            Self::Mpirun(_) => "mpirun",
        }
    }

    /// Whether its traffic must be seen on RDMA counters before it counts as ready. Gloo knows no RDMA, and a training script
    /// may take minutes before its first exchange.
    pub fn proves_rdma(&self) -> bool {
        match self {
            Self::Llama(llama) => !llama.allow_tcp,
            Self::Torchrun(_) | Self::Mpirun(_) => false,
        }
    }
}
