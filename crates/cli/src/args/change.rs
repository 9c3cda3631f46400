//! The command lines of whatever changes nodes.

use std::{path::PathBuf, time::Duration};

use crosstie_report::offer::{Offer, Verb};

use super::{RootArgs, TargetArgs};

/// Seconds until a node goes back by itself, unless they are given.
pub(crate) const GUARD: u32 = 120;

/// Change the nodes as planned; each goes back by itself unless it is confirmed
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  crosstie apply                             all nodes of ./cluster.toml
  crosstie apply spark-b                     one of them
  crosstie apply --canary spark-b --yes      that one first, and nobody is asked
  crosstie apply --lab two-sparks

The plan is shown first. One node goes first; when it is confirmed over a new connection, the
others follow. A node that cannot be reached as before is rolled back, by itself if need be, and
no further one is begun.

Exit status: 0 every node is as planned, 1 one was rolled back or refused, 2 one was not read or lost.")]
pub(crate) struct Apply {
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

    /// A node goes back by itself unless it is confirmed within so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = GUARD, value_parser = clap::value_parser!(u32).range(30..=3600))]
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
#[command(after_help = "Examples:
  crosstie rollback                          all nodes of ./cluster.toml
  crosstie rollback . spark-b                this machine and another; no cluster file is needed
  crosstie rollback --run 20261116T175500Z-1f2e3d4c

All nodes are asked first. What is rolled back where is shown; nodes that the run did not change,
or that have gone back from it, are left alone.

Exit status: 0 done, or there was nothing to undo; 1 a node refused; 2 one could not be asked.")]
pub(crate) struct Rollback {
    /// The run to roll back, as `crosstie status` shows it; on each node whatever came after it goes too
    #[arg(long, value_name = "ID")]
    pub(crate) run: Option<String>,

    #[command(flatten)]
    pub(crate) undo: Undo,
}

/// Undo every change, and leave nothing of this tool on the nodes
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  crosstie uninstall                         all nodes of ./cluster.toml
  crosstie uninstall . spark-b               this machine and another; no cluster file is needed

Exit status: 0 done, or there was nothing to undo; 1 a node refused; 2 one could not be asked.")]
pub(crate) struct Uninstall {
    #[command(flatten)]
    pub(crate) undo: Undo,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Undo {
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
#[command(after_help = "Examples:
  crosstie status                            all nodes of ./cluster.toml, else this machine
  crosstie status . spark-b --json           for programs

Exit status: 0 all is as it was left, 1 something drifted or is not confirmed, 2 a node was not asked.")]
pub(crate) struct Status {
    #[command(flatten)]
    pub(crate) chosen: NodeArgs,

    /// Print JSON (see `crosstie schema status`)
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) root: RootArgs,
}

/// Run a risky command on a node; what it did is undone unless you keep it
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  crosstie try spark-b -- ip route replace default via 192.0.2.254
  crosstie try --for 5m --file /etc/frr spark-b -- systemctl restart frr
  crosstie try --yes . -- netplan apply

The command runs as root, without a shell. The files of network managers, those named by --file,
links, addresses, routes, rules, the firewall and sysctls of interfaces are restored, by the node
itself if need be, unless the node still answers and you say so in time.

Exit status: 0 it is kept, 1 it was undone, 2 the node could not be asked.")]
pub(crate) struct Try {
    /// The node, as the cluster file or ssh calls it; `.` is this machine
    #[arg(value_name = "NODE")]
    pub(crate) node: String,

    /// The command and its arguments, after `--`
    #[arg(value_name = "CMD", last = true, required = true)]
    pub(crate) command: Vec<String>,

    /// Go back after so long, unless it is kept: 90s, 2m
    #[arg(long = "for", value_name = "TIME", default_value = "2m", value_parser = duration)]
    pub(crate) time: Duration,

    /// A file or folder on the node to put back, too (may be repeated)
    #[arg(long, value_name = "PATH")]
    pub(crate) file: Vec<String>,

    /// Keep it if the command succeeds and the node still answers, and do not ask
    #[arg(long)]
    pub(crate) yes: bool,

    /// Run it also where something of the network, such as the firewall, cannot be read and so could not be undone
    #[arg(long)]
    pub(crate) force: bool,

    /// The node is one of this running lab's (see `crosstie lab`)
    #[arg(long, value_name = "NAME", conflicts_with = "ssh_config")]
    pub(crate) lab: Option<String>,

    /// The cluster file that names the node
    #[arg(long, value_name = "FILE")]
    pub(crate) cluster: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) root: RootArgs,
}

/// Which nodes are changed.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct NodeArgs {
    /// Nodes, as the cluster file or ssh calls them; `.` is this machine. None: all of the cluster file
    #[arg(value_name = "NODE")]
    pub(crate) nodes: Vec<String>,

    /// The nodes of this running lab (see `crosstie lab`)
    #[arg(long, value_name = "NAME", conflicts_with = "ssh_config")]
    pub(crate) lab: Option<String>,

    /// The cluster file. Left out: ./cluster.toml, else the lab's own
    #[arg(long, value_name = "FILE")]
    pub(crate) cluster: Option<PathBuf>,
}

impl Apply {
    /// The command that does the same again.
    pub(crate) fn again(&self) -> String {
        let guard = (self.guard != GUARD).then_some(self.guard);
        self.offer().again(Verb::Apply, guard, self.force)
    }

    pub(crate) fn offer(&self) -> Offer {
        Offer {
            yes: self.yes,
            ..self.chosen.targets(&self.root).offer()
        }
    }
}

impl NodeArgs {
    pub(crate) fn targets(&self, root: &RootArgs) -> TargetArgs {
        TargetArgs {
            nodes: self.nodes.clone(),
            lab: self.lab.clone(),
            from: Vec::new(),
            cluster: self.cluster.clone(),
            reach: root.reach(),
        }
    }
}

/// `90`, `90s`, `2m`: what a guard can be set to.
fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = match text.strip_suffix('m') {
        Some(minutes) => (minutes, 60),
        None => (text.strip_suffix('s').unwrap_or(text), 1),
    };
    let seconds = number.parse::<u64>().ok();
    let seconds = seconds.and_then(|number| number.checked_mul(unit));
    match seconds {
        Some(seconds @ 30..=3600) => Ok(Duration::from_secs(seconds)),
        Some(_) => Err("from 30s to 60m".to_owned()),
        None => Err("seconds or minutes, like 90s or 2m".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Arguments, Command};

    fn parsed(command: &str) -> Command {
        Arguments::parse_from(command.split(' ')).command
    }

    #[test]
    fn commands_that_make_a_cluster_whole_have_the_options_that_were_used() {
        let nodes = "spark-a spark-b";
        let used = "--cluster lab/sparks.toml --yes --become-password-fd 0 --timeout 90 --ssh-config lab/ssh \
                    --agent-dir agents";
        let whole = format!("crosstie apply {nodes} {used}");
        let Command::Apply(apply) = parsed(&whole) else {
            panic!()
        };
        assert_eq!(apply.again(), whole);
        let undo = apply.offer().undo("20261116T175500Z-1f2e3d4c");
        let run = "--run 20261116T175500Z-1f2e3d4c";
        assert_eq!(undo, format!("crosstie rollback {run} {nodes} {used}"));
        assert!(matches!(parsed(&undo), Command::Rollback(_)));
        for bare in [
            "crosstie apply",
            "crosstie apply --lab two-sparks --ask-become-pass --force --guard 300",
        ] {
            let Command::Apply(apply) = parsed(bare) else {
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

    #[test]
    fn times_are_seconds_or_minutes() {
        for (text, seconds) in [("90s", 90), ("2m", 120), ("45", 45), ("60m", 3600)] {
            assert_eq!(duration(text), Ok(Duration::from_secs(seconds)), "{text}");
        }
        for text in [
            "",
            "m",
            "2h",
            "29s",
            "61m",
            "-2m",
            "1.5m",
            "99999999999999999999m",
        ] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
