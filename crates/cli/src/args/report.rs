//! Arguments of `crosstie report`.

use std::path::PathBuf;

/// A report of a stored run to hand over, or what changed between two
///
/// A report is one HTML file that loads nothing from anywhere. Runs are stored by `prove`.
#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("../../help/report.txt"))]
pub(crate) struct ReportArgs {
    /// A stored run. None: the newest of the cluster
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<PathBuf>,

    /// A later run, to be compared with the first
    #[arg(value_name = "NEW", requires = "run")]
    pub(crate) new: Option<PathBuf>,

    /// Write the page there; `-` is standard output. Of one run, report.html if nothing else is asked for
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Print JSON (see `crosstie schema report`, `crosstie schema compare`)
    #[arg(long)]
    pub(crate) json: bool,

    /// Replace names, addresses, MACs, GUIDs and serial numbers, each by the same stand-in everywhere
    #[arg(long)]
    pub(crate) share: bool,

    /// The cluster file, whose newest run is meant where no run is named
    #[arg(
        long,
        value_name = "FILE",
        default_value = "cluster.toml",
        conflicts_with = "run"
    )]
    pub(crate) cluster: PathBuf,
}
