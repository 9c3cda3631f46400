//! Arguments of `crosstie env`.

use std::path::PathBuf;

use crosstie_launch::format::EnvFormat;

use super::{reach::TargetArgs, value::one_of};

/// Settings of NCCL, UCX, Gloo, Open MPI, Ray, vLLM, llama.cpp and others for each node, with their reasons
///
/// Names of devices and addresses differ between nodes, so each has its own. Nothing is changed on any node.
#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("../../help/env.txt"))]
pub(crate) struct EnvArgs {
    #[command(flatten)]
    pub(crate) targets: TargetArgs,

    /// Print one node's settings in a format of another program
    #[arg(long, value_name = "FORMAT", value_parser = one_of(EnvFormat::ALL.map(|format| (format.name(), format))), conflicts_with = "json")]
    pub(crate) format: Option<EnvFormat>,

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
