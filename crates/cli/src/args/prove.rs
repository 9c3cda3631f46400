//! Arguments of `crosstie prove`.

use clap::value_parser;
use crosstie_control::prove::ProveOptions;
use crosstie_model::run::Mode;

use super::reach::LiveArgs;

/// Measure every pair and rail, grade each figure against what physics allows, and name what is at fault
///
/// Reachability at full packet size, TCP, RDMA latency and bandwidth of every rail, all rails at once, pairs beside each
/// other; with the ports' counters around every test. What was measured is kept, also when it is interrupted.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  crosstie prove --sudo
  crosstie prove --quick --sudo                  # after an update: what has changed since the last proof?
  crosstie prove --soak 8h --sudo spark-a spark-b
  crosstie prove --lab two-sparks --sudo --json | jq '.findings'

Exit status: 0 proven, 1 faults found, 2 the tool could not do what it was asked to")]
pub(crate) struct Prove {
    #[command(flatten)]
    pub(crate) targets: LiveArgs,

    /// Each port once, then what is suspect against ports that passed: about 20 seconds
    #[arg(long, conflicts_with_all = ["full", "soak"])]
    pub(crate) quick: bool,

    /// Every pair, alone and beside others [default]
    #[arg(long, conflicts_with = "soak")]
    pub(crate) full: bool,

    /// Every pair, then traffic for so long: 90s, 30m, 8h
    #[arg(long, value_name = "TIME", value_parser = soak_time)]
    pub(crate) soak: Option<u64>,

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

impl Prove {
    pub(crate) fn options(&self) -> anyhow::Result<ProveOptions> {
        let mode = match self.soak {
            Some(seconds) => Mode::Soak { seconds },
            None if self.quick => Mode::Quick,
            None => Mode::Full,
        };
        let mut options = ProveOptions::usual(mode);
        options.force = self.force;
        options.report = !self.no_report;
        if let Some(seconds) = self.seconds {
            anyhow::ensure!(
                (0.1..=3600.0).contains(&seconds),
                "--seconds {seconds}: each test takes 0.1 to 3600 seconds"
            );
            options.test_time = std::time::Duration::from_secs_f64(seconds);
        }
        Ok(options)
    }
}

/// A number with `s`, `m` or `h`.
fn soak_time(text: &str) -> Result<u64, String> {
    let odd = || format!("'{text}' is no time such as 90s, 30m or 8h");
    let number = text.trim_end_matches(['s', 'm', 'h']);
    let value: u64 = number.parse().map_err(|_| odd())?;
    let factor = match &text[number.len()..] {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        _ => return Err(odd()),
    };
    let seconds = value.checked_mul(factor).ok_or_else(odd)?;
    if !(1..=30 * 24 * 3600).contains(&seconds) {
        return Err("a soak takes a second at least, and 30 days at most".to_owned());
    }
    Ok(seconds)
}
