//! The command line.

pub(crate) mod bench;
pub(crate) mod change;
pub(crate) mod env;
pub(crate) mod launch;
pub(crate) mod node;
#[cfg(test)]
mod printed;
pub(crate) mod prove;
mod reach;
pub(crate) mod report;
pub(crate) mod trust;
pub(crate) mod up;
pub(crate) mod value;

use std::path::PathBuf;

use clap::{
    ArgAction, Parser, Subcommand,
    builder::{PossibleValue, PossibleValuesParser, styling},
};
use crosstie_terminal::ColourChoice;

pub(crate) use reach::{
    ClusterArgs, ConnectArgs, MemberArgs, NodeArgs, PlannedArgs, RootArgs, TargetArgs, lab_targets,
};

const STYLES: styling::Styles = styling::Styles::styled()
    .header(styling::AnsiColor::Cyan.on_default().bold())
    .usage(styling::AnsiColor::Cyan.on_default().bold())
    .literal(styling::Style::new().bold())
    .placeholder(styling::Style::new().dimmed());

/// RDMA between GPU machines: from cabled to proven.
#[derive(Debug, Parser)]
#[command(name = "crosstie", version, styles = STYLES, max_term_width = 100)]
#[command(after_help = "Start with: crosstie scan")]
pub(crate) struct Arguments {
    /// Colours and live progress; `auto` means on a terminal only
    #[arg(
        long = "color",
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        value_parser = value::one_of([
            ("auto", ColourChoice::Auto),
            ("always", ColourChoice::Always),
            ("never", ColourChoice::Never),
        ])
    )]
    pub(crate) colour: ColourChoice,

    /// Say more on stderr about what is done (twice for details)
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,

    #[command(subcommand)]
    pub(crate) command: CliCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    Up(up::UpArgs),
    Scan(ScanArgs),
    Doctor(DoctorArgs),
    Trust(trust::TrustArgs),
    Explain(ExplainArgs),
    Plan(PlanArgs),
    Init(InitArgs),
    Apply(change::ApplyArgs),
    Rollback(change::RollbackArgs),
    Status(change::ChangeStatusArgs),
    Bench(bench::BenchArgs),
    Prove(prove::ProveArgs),
    Env(env::EnvArgs),
    Launch(launch::LaunchArgs),
    Report(report::ReportArgs),
    Try(change::TryArgs),
    Uninstall(change::UninstallArgs),
    Lab(crate::lab::LabArgs),

    /// Print a completion script for a shell
    #[command(
        after_help = "Example:\n  crosstie completions bash > /etc/bash_completion.d/crosstie"
    )]
    Completions {
        shell: clap_complete::Shell,
    },

    /// List names that a shell may complete; started by its completion script
    #[command(hide = true)]
    Complete {
        names: crate::generate::CompletionNames,
    },

    /// Print the manual page, or write one for each command
    #[command(after_help = "Example:\n  crosstie man | man -l -")]
    Man {
        /// Write crosstie.1, crosstie-scan.1, … into this directory
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },

    /// Print the JSON schema of an output
    Schema {
        #[arg(value_parser = schemas())]
        what: String,
    },

    #[command(flatten)]
    OfNode(node::NodeCommand),
}

impl CliCommand {
    /// Somebody started it; the others are started by this program itself, or by a node's init.
    pub(crate) fn is_for_people(&self) -> bool {
        !matches!(self, Self::OfNode(_))
    }
}

/// What is here: RDMA ports, cages and twins, PCIe, GPUs, addresses, drivers
#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("../../help/scan.txt"))]
pub(crate) struct ScanArgs {
    /// Look for machines on the local links, by multicast DNS and, on RDMA ports, the IPv6 all-nodes group
    #[arg(long, conflicts_with_all = ["nodes", "lab", "from", "capture", "cluster", "facts", "sudo"])]
    pub(crate) discover: bool,

    /// With --discover: look on this interface alone, as if it were an RDMA port (may be repeated)
    #[arg(long, value_name = "IF", requires = "discover")]
    pub(crate) interface: Vec<String>,

    /// Print JSON (see `crosstie schema scan`, `crosstie schema discover`)
    #[arg(long)]
    pub(crate) json: bool,

    /// Add every fact that was read to the JSON
    #[arg(long, requires = "json")]
    pub(crate) facts: bool,

    /// Keep what was read: a .tar.gz, or a directory. Keys, tokens and Wi-Fi names stay out of it
    #[arg(long, value_name = "PATH")]
    pub(crate) capture: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) targets: TargetArgs,
}

/// What is wrong, why, and the fix
#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("../../help/doctor.txt"))]
pub(crate) struct DoctorArgs {
    /// Print JSON (see `crosstie schema doctor`); with --watch one line a round
    #[arg(long, conflicts_with = "markdown")]
    pub(crate) json: bool,

    /// Print Markdown, for a bug report
    #[arg(long, conflicts_with = "watch")]
    pub(crate) markdown: bool,

    /// Show every finding: also those that another explains, and what is only worth knowing
    #[arg(long, conflicts_with_all = ["json", "markdown"])]
    pub(crate) all: bool,

    /// Look again every few seconds and show what changed, until Ctrl-C
    #[arg(long, conflicts_with = "from")]
    pub(crate) watch: bool,

    /// Answer in under 3 seconds: counters are read once, and a node that is slower is given up
    #[arg(long, conflicts_with_all = ["watch", "interval", "timeout"])]
    pub(crate) quick: bool,

    /// Seconds between the two readings of counters that may grow; 0 reads them once
    #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = clap::value_parser!(u32).range(0..=3600))]
    pub(crate) interval: u32,

    /// Only these checks
    #[arg(long, value_name = "ID", value_delimiter = ',', value_parser = check_ids(), hide_possible_values = true)]
    pub(crate) only: Vec<String>,

    /// All but these checks
    #[arg(long, value_name = "ID", value_delimiter = ',', value_parser = check_ids(), hide_possible_values = true)]
    pub(crate) skip: Vec<String>,

    #[command(flatten)]
    pub(crate) targets: TargetArgs,
}

/// What a fault means and how to mend it; or what an NCCL log says
#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("../../help/explain.txt"))]
pub(crate) struct ExplainArgs {
    /// The fault's name, as `crosstie doctor` gives it
    #[arg(value_name = "ID", conflicts_with = "nccl_log")]
    pub(crate) id: Option<String>,

    /// Read what NCCL logged; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) nccl_log: Option<PathBuf>,

    /// Of a log: print JSON (see `crosstie schema explain`)
    #[arg(long, requires = "nccl_log", conflicts_with = "id")]
    pub(crate) json: bool,

    /// Of a log: captures of the nodes: a directory, a .tar.gz, or a directory of several
    #[arg(
        long,
        value_name = "PATH",
        requires = "nccl_log",
        conflicts_with = "id"
    )]
    pub(crate) from: Vec<PathBuf>,
}

/// What would change on each node, as a diff
#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("../../help/plan.txt"))]
pub(crate) struct PlanArgs {
    /// Print JSON (see `crosstie schema plan`)
    #[arg(long)]
    pub(crate) json: bool,

    /// Write the files that would be written, as DIR/NODE/etc/…; of files that others write too, our block
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) planned: PlannedArgs,
}

/// Look at the nodes and what is cabled to what, and write the cluster file
///
/// Every RDMA port says its name on the wire and listens for the others, which takes root on the nodes and no addresses.
/// Links that are down are brought up for it and restored.
#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("../../help/init.txt"))]
pub(crate) struct InitArgs {
    #[command(flatten)]
    pub(crate) members: MemberArgs,

    /// Write nothing; show what the file would be
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Print JSON (see `crosstie schema init`)
    #[arg(long)]
    pub(crate) json: bool,

    /// Seconds to listen at most, from when every node does; 6 when left out, 15 where links have to come up first
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(2..=300))]
    pub(crate) listen: Option<u32>,

    #[command(flatten)]
    pub(crate) root: RootArgs,
}

fn check_ids() -> PossibleValuesParser {
    PossibleValuesParser::new(crosstie_doctor::checks::all().map(|check| check.id))
}

fn schemas() -> PossibleValuesParser {
    let known = crate::generate::schemas();
    PossibleValuesParser::new(known.map(|known| PossibleValue::new(known.name).help(known.of)))
}
