//! The command line of `up`.

use crate::args::{Members, Root};

/// From cabled to proven in one go: scan, cabling, doctor, plan, apply, proof, settings
///
/// Run it again at any time, also after it was interrupted: what is done already is left as it is.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  crosstie up . spark-b                      this machine and another
  crosstie up spark-a spark-b --yes          nobody is asked
  crosstie up --lab two-sparks               every node of a lab
  crosstie up                                the nodes of cluster.toml again

Faults that the plan does not mend stop it before anything is changed. The plan is shown, and one
question asked. A node that cannot be reached as before goes back by itself.

Exit status: 0 every address answers every other; 1 a fault, a refusal or a node that went back
ended it, or the proof fails; 2 a node could not be read, or is lost.")]
pub(crate) struct Up {
    #[command(flatten)]
    pub(crate) members: Members,

    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,

    /// A node goes back by itself unless it is confirmed within so many seconds
    #[arg(long, value_name = "SECONDS", default_value = "120", value_parser = clap::value_parser!(u32).range(30..=3600))]
    pub(crate) guard: u32,

    /// Go on although there are faults that the plan does not mend, or programs that use RDMA on a port that changes
    #[arg(long)]
    pub(crate) force: bool,

    /// Print JSON (see `crosstie schema up`)
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) root: Root,
}
