//! Arguments of `crosstie prove`.

use std::time::Duration;

use clap::value_parser;
use crosstie_control::prove::ProveOptions;
use crosstie_model::run::ProofMode;

use super::{reach::LiveArgs, value::time_in};

const LONGEST_SOAK: u64 = 30 * 24 * 3600;

/// Measure every pair and rail, grade each figure against what physics allows, and name what is at fault
///
/// Reachability at full packet size, TCP, RDMA latency and bandwidth of every rail, all rails at once, pairs beside each
/// other; with the ports' counters around every test. What was measured is kept, also when it is interrupted.
#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("../../help/prove.txt"))]
pub(crate) struct ProveArgs {
    #[command(flatten)]
    pub(crate) targets: LiveArgs,

    /// Each port once, then what is suspect against ports that passed: about 20 seconds
    #[arg(long, conflicts_with_all = ["full", "soak"])]
    pub(crate) quick: bool,

    /// Every pair, alone and beside others [default]
    #[arg(long, conflicts_with = "soak")]
    pub(crate) full: bool,

    /// Every pair, then traffic for so long: 90s, 30m, 8h
    #[arg(long, value_name = "TIME", value_parser = |text: &str| time_in(text, 1..=LONGEST_SOAK))]
    pub(crate) soak: Option<Duration>,

    /// Seconds of each test [default: 2; 0.5 with --quick]
    #[arg(long, value_name = "SECONDS", value_parser = value_parser!(f64))]
    pub(crate) seconds: Option<f64>,

    /// Also rails that carry management, and devices that programs use
    #[arg(long)]
    pub(crate) force: bool,

    /// Make no page of the run
    #[arg(long)]
    pub(crate) no_report: bool,

    /// Print JSON (see `crosstie schema prove`)
    #[arg(long)]
    pub(crate) json: bool,
}

impl ProveArgs {
    pub(crate) fn options(&self) -> anyhow::Result<ProveOptions> {
        let mode = match self.soak {
            Some(time) => ProofMode::Soak {
                seconds: time.as_secs(),
            },
            None if self.quick => ProofMode::Quick,
            None => ProofMode::Full,
        };
        let mut options = ProveOptions::usual(mode);
        options.force = self.force;
        options.report = !self.no_report;
        if let Some(seconds) = self.seconds {
            anyhow::ensure!(
                (0.1..=3600.0).contains(&seconds),
                "--seconds {seconds}: each test takes 0.1 to 3600 seconds"
            );
            options.test_time = Duration::from_secs_f64(seconds);
        }
        Ok(options)
    }
}
