//! The command line.

pub(crate) mod bench;
pub(crate) mod change;
pub(crate) mod env;
pub(crate) mod launch;
#[cfg(test)]
mod printed;
pub(crate) mod prove;
mod reach;
pub(crate) mod report;
pub(crate) mod trust;
pub(crate) mod up;

use std::path::PathBuf;

use clap::{
    ArgAction, ColorChoice, Parser, Subcommand,
    builder::{PossibleValue, PossibleValuesParser, styling},
};
use crosstie_terminal::Colour;

pub(crate) use reach::{ConnectArgs, MemberArgs, PlannedArgs, RootArgs, TargetArgs, lab_targets};

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
        default_value = "auto"
    )]
    colour: ColorChoice,

    /// Say more on stderr about what is done (twice for details)
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,

    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Arguments {
    pub(crate) fn colour(&self) -> Colour {
        match self.colour {
            ColorChoice::Always => Colour::Always,
            ColorChoice::Auto => Colour::Auto,
            ColorChoice::Never => Colour::Never,
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Up(up::Up),
    Scan(Scan),
    Doctor(Doctor),
    Trust(trust::TrustArgs),
    Explain(Explain),
    Plan(Plan),
    Init(Init),
    Apply(change::Apply),
    Rollback(change::Rollback),
    Status(change::Status),
    Bench(bench::Bench),
    Prove(prove::Prove),
    Env(env::Env),
    Launch(launch::Launch),
    Report(report::Report),
    Try(change::Try),
    Uninstall(change::Uninstall),
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
        names: crate::generate::Names,
    },

    /// Print the manual page, or write one for each command
    #[command(after_help = "Example:\n  crosstie man | man -l -")]
    Man {
        /// Write crosstie.1, crosstie-scan.1, … into this directory
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },

    /// Serve calls on standard input and output; started on nodes by the other commands
    #[command(hide = true)]
    Agent {
        /// End after so long without a word from the other side
        #[arg(long, value_name = "MILLISECONDS")]
        silence: Option<u32>,
        /// What the build is known by, where whoever starts this has just looked
        #[arg(long, value_name = "SHA256")]
        build: Option<String>,
    },
    /// Go back from a change that nobody confirmed. The node itself starts this
    #[command(hide = true)]
    Guard {
        transaction: String,
        /// No manager of the network runs yet
        #[arg(long)]
        boot: bool,
        /// Not before this moment, in milliseconds of `CLOCK_BOOTTIME`
        #[arg(long, value_name = "MILLISECONDS", conflicts_with = "boot")]
        wait_until: Option<u64>,
    },

    /// Serve an engine on standard input and output; started by the agent
    #[command(hide = true)]
    Worker {
        engine: String,
        /// Ends by itself after so many seconds
        #[arg(long, value_name = "SECONDS")]
        lifetime: u64,
        /// Instead of this machine's libibverbs
        #[arg(long, value_name = "FILE")]
        library: Option<PathBuf>,
    },

    /// Run one rank of a job and look after the others; started by the rank's unit
    #[command(hide = true)]
    Rank {
        folder: PathBuf,
    },

    /// Run a command on another node of a job; started by mpirun in place of ssh
    #[command(hide = true)]
    RankShell {
        host: String,
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<String>,
    },

    /// Set what ports lose with every boot; started by the boot unit that `apply` installs
    #[command(hide = true)]
    Restore {
        file: PathBuf,
    },

    /// Print the JSON schema of an output
    Schema {
        #[arg(value_parser = schemas())]
        what: String,
    },
}

impl Command {
    /// A program reads what it prints.
    pub(crate) fn wants_json(&self) -> bool {
        match self {
            Self::Up(up) => up.json,
            Self::Scan(scan) => scan.json,
            Self::Doctor(doctor) => doctor.json,
            Self::Trust(trust) => trust.json,
            Self::Explain(explain) => explain.json,
            Self::Plan(plan) => plan.json,
            Self::Init(init) => init.json,
            Self::Apply(apply) => apply.json,
            Self::Rollback(rollback) => rollback.undo.json,
            Self::Uninstall(uninstall) => uninstall.undo.json,
            Self::Status(status) => status.json,
            Self::Bench(bench) => bench.json,
            Self::Prove(prove) => prove.json,
            Self::Env(env) => env.json,
            Self::Launch(launch) => launch.command.wants_json(),
            Self::Report(report) => report.json,
            Self::Lab(lab) => lab.wants_json(),
            _ => false,
        }
    }

    /// Somebody started it; the others are started by this program itself, or by a node's init.
    pub(crate) fn is_for_people(&self) -> bool {
        !matches!(
            self,
            Self::Agent { .. }
                | Self::Guard { .. }
                | Self::Worker { .. }
                | Self::Restore { .. }
                | Self::Rank { .. }
                | Self::RankShell { .. }
        )
    }
}

/// What is here: RDMA ports, cages and twins, PCIe, GPUs, addresses, drivers
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  crosstie scan                              the nodes of ./cluster.toml, else this machine
  crosstie scan .                            this machine
  crosstie scan . spark-b                    this machine and another, over ssh
  crosstie scan spark-a spark-b --sudo       and what only root may read
  crosstie scan --discover                   who else is on the cables, if you do not know their names
  crosstie scan --lab two-sparks             every node of a lab
  crosstie scan --capture spark-a.tar.gz     and keep what was read, to share it
  crosstie scan --from spark-a.tar.gz        a capture instead of a machine
  crosstie scan --from captures/ --json      every capture in a directory, for programs

Exit status: 0 every node was scanned, 2 one was not.")]
pub(crate) struct Scan {
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
#[command(after_help = "Examples:
  crosstie doctor                            the nodes of ./cluster.toml, else this machine
  crosstie doctor .                          this machine
  crosstie doctor . spark-b                  this machine and another, and what is between them
  crosstie doctor --cluster sparks.toml      all nodes of a cluster, against what it should be
  crosstie doctor --lab two-sparks --watch   again and again, with what changed
  crosstie doctor --from captures/ --json    captures, for programs
  crosstie doctor --markdown > report.md     for a bug report

Exit status: 0 no faults (there may be warnings), 1 faults, 2 a node could not be examined.")]
pub(crate) struct Doctor {
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
#[command(after_help = "Examples:
  crosstie explain                           every fault, in one line each
  crosstie explain twins-same-subnet         one of them at length
  crosstie explain --nccl-log train.log      is it RDMA? between whom, over what, and what is wrong
  docker logs vllm 2>&1 | crosstie explain --nccl-log -
  crosstie explain --nccl-log train.log --from captures/    with the nodes' facts: twins, GPUs

NCCL_DEBUG=INFO makes NCCL write such a log; NCCL_DEBUG_SUBSYS=INIT,NET,ENV adds connections and settings.

Exit status: 0 no faults (there may be warnings), 1 the log shows faults, 2 it could not be read, or there is no such ID.")]
pub(crate) struct Explain {
    /// The fault's name, as `crosstie doctor` gives it
    #[arg(value_name = "ID", conflicts_with = "nccl_log")]
    pub(crate) id: Option<String>,

    /// Read what NCCL logged; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) nccl_log: Option<PathBuf>,

    /// Print JSON (see `crosstie schema explain`)
    #[arg(long, requires = "nccl_log", conflicts_with = "id")]
    pub(crate) json: bool,

    /// Captures of the nodes: a directory, a .tar.gz, or a directory of several
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
#[command(after_help = "Examples:
  crosstie plan                              all nodes of ./cluster.toml
  crosstie plan spark-b                      one of them
  crosstie plan --out plan/                  and write each node's files to plan/NODE/etc/…
  crosstie plan --from captures/ --json      captures, for programs

Root is taken on the nodes, since some files are for its eyes alone. Nothing is changed on any node.

Exit status: 0 a plan was made, or there is nothing to do; 2 refused, or a node could not be read.")]
pub(crate) struct Plan {
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
/// Links that are down are brought up for it and put back.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  crosstie init . spark-b                    this machine and another → cluster.toml
  crosstie init spark-a spark-b --dry-run    show the file instead of writing it
  crosstie init --lab two-sparks -o lab.toml
  crosstie init                              the nodes of cluster.toml again: adds what is new, keeps your edits

Exit status: 0 done, 2 a node could not be asked or the file could not be written.")]
pub(crate) struct Init {
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
