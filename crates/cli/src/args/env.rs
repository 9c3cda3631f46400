//! Arguments of `crosstie env`.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use crosstie_launch::format::Format;

use super::reach::TargetArgs;

/// Settings of NCCL, UCX, Gloo, Open MPI, Ray, vLLM, llama.cpp and others for each node, with their reasons
///
/// Names of devices and addresses differ between nodes, so each has its own. Nothing is changed on any node.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  crosstie env                                       every node's settings, and why
  eval \"$(crosstie env spark-a --format sh)\"
  eval \"podman run $(crosstie env spark-a --format podman) IMAGE\"
  crosstie env --format systemd --out env/           env/NODE.env for each node
  HF_TOKEN=… crosstie env spark-a --set HF_TOKEN --format dotenv

Exit status: 0 done, 2 a node could not be read, or a value does not fit the format.")]
pub(crate) struct Env {
    #[command(flatten)]
    pub(crate) targets: TargetArgs,

    /// Print one node's settings in a format of another program
    #[arg(long, value_name = "FORMAT", value_parser = format(), conflicts_with = "json")]
    pub(crate) format: Option<Format>,

    /// Another variable: NAME=VALUE, or NAME for the value that it has here
    #[arg(long, value_name = "NAME[=VALUE]")]
    pub(crate) set: Vec<String>,

    /// Write a file for each node into this directory
    #[arg(long, value_name = "DIR", requires = "format")]
    pub(crate) out: Option<PathBuf>,

    /// Print JSON (see `crosstie schema env`)
    #[arg(long)]
    pub(crate) json: bool,
}

fn format() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(Format::name)).map(|name| {
        let named = |format: &Format| format.name() == name;
        // The parser takes no other name.
        Format::ALL.into_iter().find(named).unwrap_or(Format::Sh)
    })
}
