//! Arguments of `crosstie bench`.

use clap::{ValueEnum, value_parser};
use crosstie_report::bench::Operation;

use super::reach::TargetArgs;

/// Measure RDMA between two nodes: every rail, both directions, latency, all rails at once
///
/// Each rail alone, then all of them. RDMA needs no open port: endpoints travel over ssh. A rail that carries
/// management, or a device that programs use, is refused. TCP is not measured yet.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  crosstie bench spark-a spark-b --sudo
  crosstie bench --lab two-sparks --sudo --operation read --size 1048576
  crosstie bench spark-a spark-b --sudo --json | jq '.all_rails.there.measured.gbps'

Exit status: 0 measured, 2 something could not be measured")]
pub(crate) struct Bench {
    #[command(flatten)]
    pub(crate) targets: TargetArgs,

    /// What is measured
    #[arg(long, value_name = "OPERATION", default_value = "write")]
    pub(crate) operation: OperationArg,

    /// Bytes of a message in the bandwidth tests
    #[arg(long, value_name = "BYTES", default_value_t = 65536, value_parser = value_parser!(u32).range(1..=1 << 30))]
    pub(crate) size: u32,

    /// Queue pairs a rail
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = value_parser!(u16).range(1..=1024))]
    pub(crate) queue_pairs: u16,

    /// Seconds that each test is measured, after its warm-up
    #[arg(long, value_name = "SECONDS", default_value_t = 2, value_parser = value_parser!(u32).range(1..=3600))]
    pub(crate) seconds: u32,

    /// Also rails that carry management, and devices that programs use
    #[arg(long)]
    pub(crate) force: bool,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum OperationArg {
    Write,
    Read,
}

impl From<OperationArg> for Operation {
    fn from(argument: OperationArg) -> Self {
        match argument {
            OperationArg::Write => Self::Write,
            OperationArg::Read => Self::Read,
        }
    }
}
