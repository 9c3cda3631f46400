//! The command line.

use std::path::PathBuf;

use clap::{ArgAction, ColorChoice, Parser, Subcommand, ValueEnum, builder::styling};

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
    pub(crate) colour: ColorChoice,

    /// Say more on stderr about what is done (twice for details)
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Scan(Scan),
    Trust(crate::trust::TrustArgs),
    Lab(crate::lab::LabArgs),

    /// Print a completion script for a shell
    #[command(
        after_help = "Example:\n  crosstie completions bash > /etc/bash_completion.d/crosstie"
    )]
    Completions {
        shell: clap_complete::Shell,
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
    Agent,

    /// Print the JSON schema of an output
    Schema {
        what: Schema,
    },
}

/// What is here: RDMA ports, cages and twins, PCIe, GPUs, addresses, drivers
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  crosstie scan                              this machine
  crosstie scan . spark-b                    this machine and another, over ssh
  crosstie scan spark-a spark-b --sudo       and what only root may read
  crosstie scan --lab two-sparks             every node of a lab
  crosstie scan --capture spark-a.tar.gz     and keep what was read, to share it
  crosstie scan --from spark-a.tar.gz        a capture instead of a machine
  crosstie scan --from captures/ --json      every capture in a directory, for programs

Exit status: 0 every node was scanned, 2 one was not.")]
pub(crate) struct Scan {
    /// Nodes to scan, as ssh takes them; `.` is this machine, and so is no node at all
    #[arg(value_name = "NODE")]
    pub(crate) nodes: Vec<String>,

    /// All nodes of this running lab (see `crosstie lab`)
    #[arg(long, value_name = "NAME", conflicts_with_all = ["nodes", "from", "ssh_config"])]
    pub(crate) lab: Option<String>,

    /// Print JSON (see `crosstie schema scan`)
    #[arg(long)]
    pub(crate) json: bool,

    /// Add every fact that was read to the JSON
    #[arg(long, requires = "json")]
    pub(crate) facts: bool,

    /// Read captures instead of live nodes: a directory, a .tar.gz, or a directory of several
    #[arg(long, value_name = "PATH", conflicts_with_all = ["nodes", "sudo"])]
    pub(crate) from: Vec<PathBuf>,

    /// Keep what was read: a .tar.gz, or a directory. Keys, tokens and Wi-Fi names stay out of it
    #[arg(long, value_name = "PATH")]
    pub(crate) capture: Option<PathBuf>,

    /// Group ports into cages as this cluster file says
    #[arg(long, value_name = "FILE")]
    pub(crate) cluster: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) reach: Reach,
}

/// How nodes are reached.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Reaching nodes")]
pub(crate) struct Reach {
    /// Read as root, too: `sudo` without a password where that works, else the password is asked for once
    #[arg(long)]
    pub(crate) sudo: bool,

    /// Read the password for sudo from this file descriptor
    #[arg(long, value_name = "N", requires = "sudo")]
    pub(crate) become_password_fd: Option<u32>,

    #[command(flatten)]
    pub(crate) ways: Ways,
}

/// The way to a node.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Reaching nodes")]
pub(crate) struct Ways {
    /// Give a node up after so many seconds
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = clap::value_parser!(u32).range(1..=86400))]
    pub(crate) timeout: u32,

    /// Use this ssh configuration instead of your own
    #[arg(long, value_name = "FILE")]
    pub(crate) ssh_config: Option<PathBuf>,

    /// Where binaries for other architectures are, each in a folder named after one: DIR/aarch64/crosstie
    #[arg(long, value_name = "DIR")]
    pub(crate) agent_dir: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Schema {
    /// `crosstie scan --json`
    Scan,
}
