//! The command lines of whatever changes nodes.

use std::time::Duration;

use crosstie_report::suggested_command::{CommandContext, CommandVerb};

use super::{ClusterArgs, NodeArgs, RootArgs, value::time_in};

/// Seconds until a node rolls back by itself, unless they are given.
pub(crate) const DEFAULT_GUARD_SECONDS: u32 = 120;

/// Change the nodes as planned; each rolls back by itself unless it is confirmed
#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("../../help/apply.txt"))]
pub(crate) struct ApplyArgs {
    #[command(flatten)]
    pub(crate) chosen: NodeArgs,

    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,

    /// Show every line that changes, not only a summary
    #[arg(long)]
    pub(crate) diff: bool,

    /// Also where programs use RDMA on a port that changes, and break their connections
    #[arg(long)]
    pub(crate) force: bool,

    /// A node rolls back by itself unless it is confirmed within so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = DEFAULT_GUARD_SECONDS, value_parser = clap::value_parser!(u32).range(30..=3600))]
    pub(crate) guard: u32,

    /// Which node goes first
    #[arg(long, value_name = "NODE")]
    pub(crate) canary: Option<String>,

    /// Print JSON (see `crosstie schema apply`)
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) root: RootArgs,
}

/// Roll back the last run of `apply`, `up` or `try`, wherever it is in force
#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("../../help/rollback.txt"))]
pub(crate) struct RollbackArgs {
    /// The run to roll back, as `crosstie status` shows it; on each node whatever came after it goes too
    #[arg(long, value_name = "ID")]
    pub(crate) run: Option<String>,

    #[command(flatten)]
    pub(crate) shared: SharedRollbackArgs,
}

/// Roll back every change, and leave nothing of this tool on the nodes
#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("../../help/uninstall.txt"))]
pub(crate) struct UninstallArgs {
    #[command(flatten)]
    pub(crate) shared: SharedRollbackArgs,
}

#[derive(Debug, clap::Args)]
pub(crate) struct SharedRollbackArgs {
    #[command(flatten)]
    pub(crate) chosen: NodeArgs,

    /// Also where somebody has edited a file since; the edit is kept beside the journal
    #[arg(long)]
    pub(crate) force: bool,

    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,

    /// Print JSON (see `crosstie schema apply`)
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) root: RootArgs,
}

/// What was changed on each node, and whether it is still so
#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("../../help/status.txt"))]
pub(crate) struct ChangeStatusArgs {
    #[command(flatten)]
    pub(crate) chosen: NodeArgs,

    /// Print JSON (see `crosstie schema status`)
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) root: RootArgs,
}

/// Run a risky command on a node; what it did is rolled back unless you keep it
#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("../../help/try.txt"))]
pub(crate) struct TryArgs {
    /// The node, as the cluster file or ssh calls it; `.` is this machine
    #[arg(value_name = "NODE")]
    pub(crate) node: String,

    /// The command and its arguments, after `--`
    #[arg(value_name = "CMD", last = true, required = true)]
    pub(crate) command: Vec<String>,

    /// Roll back after so long, unless it is kept: 90s, 2m
    #[arg(long = "for", value_name = "TIME", default_value = "2m", value_parser = |text: &str| time_in(text, 30..=3600))]
    pub(crate) time: Duration,

    /// A file or folder on the node to restore, too (may be repeated)
    #[arg(long, value_name = "PATH")]
    pub(crate) file: Vec<String>,

    /// Keep it if the command succeeds and the node still answers, and do not ask
    #[arg(long)]
    pub(crate) yes: bool,

    /// Run it also where something of the network, such as the firewall, cannot be read and so could not be restored
    #[arg(long)]
    pub(crate) force: bool,

    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,

    #[command(flatten)]
    pub(crate) root: RootArgs,
}

impl ApplyArgs {
    /// The command that does the same again.
    pub(crate) fn again(&self) -> String {
        let guard = (self.guard != DEFAULT_GUARD_SECONDS).then_some(self.guard);
        self.offer().again(CommandVerb::Apply, guard, self.force)
    }

    pub(crate) fn offer(&self) -> CommandContext {
        CommandContext {
            yes: self.yes,
            ..self.chosen.targets(self.root.reach()).offer()
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use crate::args::{Arguments, CliCommand};

    fn parsed(command: &str) -> CliCommand {
        Arguments::parse_from(command.split(' ')).command
    }

    #[test]
    fn commands_that_make_a_cluster_whole_have_the_options_that_were_used() {
        let nodes = "spark-a spark-b";
        let used = "--cluster lab/sparks.toml --yes --become-password-fd 0 --timeout 90 --ssh-config lab/ssh \
                    --agent-dir agents";
        let whole = format!("crosstie apply {nodes} {used}");
        let CliCommand::Apply(apply) = parsed(&whole) else {
            panic!()
        };
        assert_eq!(apply.again(), whole);
        let rollback = apply.offer().rollback("20261116T175500Z-1f2e3d4c");
        let run = "--run 20261116T175500Z-1f2e3d4c";
        assert_eq!(rollback, format!("crosstie rollback {run} {nodes} {used}"));
        assert!(matches!(parsed(&rollback), CliCommand::Rollback(_)));
        for bare in [
            "crosstie apply",
            "crosstie apply --lab two-sparks --ask-become-pass --force --guard 300",
        ] {
            let CliCommand::Apply(apply) = parsed(bare) else {
                panic!()
            };
            let again = apply.again();
            let sorted = |text: &str| {
                let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
                words.sort();
                words
            };
            assert_eq!(sorted(&again), sorted(bare));
        }
    }
}
