//! Arguments of `crosstie bench`.

use clap::value_parser;
use crosstie_report::bench::BenchOperation;

use super::{reach::LiveArgs, value::one_of};

const OPERATIONS: [(&str, BenchOperation); 3] = [
    ("write", BenchOperation::Write),
    ("read", BenchOperation::Read),
    ("send", BenchOperation::Send),
];

/// Measure RDMA and TCP between two nodes: every rail, both directions, latency, all rails at once
///
/// Each rail alone, then all of them, with the ports' counters around every test. Each test prints its deadline: by then
/// it has a result or an error. RDMA needs no open port: endpoints travel over ssh. TCP opens one on the rail's own address for
/// the test, to the peer alone. A rail that carries management, or a device that programs use, is refused.
/// `netns:NAME` is a network namespace of this machine.
#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("../../help/bench.txt"))]
pub(crate) struct BenchArgs {
    #[command(flatten)]
    pub(crate) targets: LiveArgs,

    /// RDMA alone
    #[arg(long, conflicts_with_all = ["tcp", "both"])]
    pub(crate) rdma: bool,

    /// TCP alone; nodes without RDMA will do
    #[arg(long, conflicts_with = "both")]
    pub(crate) tcp: bool,

    /// Both, as far as there are [default]
    #[arg(long)]
    pub(crate) both: bool,

    /// TCP streams of the tests with several
    #[arg(long, short = 'P', value_name = "COUNT", default_value_t = 4, value_parser = value_parser!(u16).range(1..=128))]
    pub(crate) streams: u16,

    /// Bytes that TCP hands to the kernel at once
    #[arg(long, short = 'l', value_name = "BYTES", default_value_t = 1 << 20, value_parser = value_parser!(u32).range(1..=64 << 20))]
    pub(crate) block: u32,

    /// Print perftest's commands for the same tests, and measure nothing
    #[arg(long, conflicts_with_all = ["as_iperf3", "verify", "json"])]
    pub(crate) as_perftest: bool,

    /// Print iperf3's and sockperf's commands for the same tests, and measure nothing
    #[arg(long, conflicts_with_all = ["verify", "json"])]
    pub(crate) as_iperf3: bool,

    /// Also run perftest and iperf3 where they are installed on both nodes, and print their figures beside ours
    #[arg(long)]
    pub(crate) verify: bool,

    /// What RDMA does
    #[arg(long, value_name = "OPERATION", default_value = "write", value_parser = one_of(OPERATIONS))]
    pub(crate) operation: BenchOperation,

    /// Bytes of a message in the bandwidth tests
    #[arg(long, value_name = "BYTES", default_value_t = 65536, value_parser = value_parser!(u32).range(1..=1 << 30))]
    pub(crate) size: u32,

    /// Queue pairs a rail
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = value_parser!(u16).range(1..=1024))]
    pub(crate) queue_pairs: u16,

    /// Messages under way on a queue pair; a power of two
    ///
    /// Long messages have fewer: at most 16 MiB are under way.
    #[arg(long, value_name = "COUNT", default_value_t = 128, value_parser = power_of_two)]
    pub(crate) depth: u32,

    /// Messages posted with one call; a power of two, at most the depth
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = power_of_two)]
    pub(crate) list: u32,

    /// Also both directions at once: the sum, and each side's own figure
    #[arg(long)]
    pub(crate) bidirectional: bool,

    /// Also every size from 2 bytes to 8 MiB, with the message rate
    #[arg(long)]
    pub(crate) sweep: bool,

    /// Also look at every byte of some messages where they come to; exit status 1 if one is wrong
    #[arg(long)]
    pub(crate) verify_data: bool,

    /// Seconds that each test is measured, after its warm-up
    #[arg(long, short = 't', value_name = "SECONDS", default_value_t = 2, value_parser = value_parser!(u32).range(1..=3600))]
    pub(crate) seconds: u32,

    /// Also rails that carry management, and devices that programs use
    #[arg(long)]
    pub(crate) force: bool,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Queues of other lengths would have to be divided for each message.
fn power_of_two(text: &str) -> Result<u32, String> {
    let number: u32 = text.parse().map_err(|_| "not a number".to_owned())?;
    if number.is_power_of_two() && number <= MOST_DEPTH {
        return Ok(number);
    }
    Err(format!("not a power of two from 1 to {MOST_DEPTH}"))
}

/// More than any device takes.
const MOST_DEPTH: u32 = 32768;
