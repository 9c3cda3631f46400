//! `crosstie lab`: a virtual cluster on this machine.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use crosstie_control::{ControlEvent, EventObserver, RunningLab, state::labs_folder};
use crosstie_lab::hub::{self, FaultDirection};
use crosstie_lab::profile::LabProfile;
use crosstie_lab::{Lab, LabKind, LabPaths, LabProgram, LabRequest, ReportProgress};
use crosstie_model::word;
use crosstie_reach::end_children_on_signals;
use crosstie_report::{
    document::JsonDocument,
    suggested_command::{CommandContext, CommandVerb},
};
use crosstie_terminal::{ColourChoice, TerminalConsole, join_serial_line};

use crate::{args::value::one_of, exit, output};

/// A virtual RDMA cluster on this machine: QEMU nodes with the kernel's own Soft-RoCE, joined by cables that can fail.
#[derive(Debug, Args)]
#[command(after_help = include_str!("../help/lab.txt"))]
pub(crate) struct LabArgs {
    /// Where labs are kept [default: `$XDG_STATE_HOME/crosstie/labs`]
    #[arg(long, global = true, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// The lab; the only one there is when left out
    #[arg(long, short, global = true, value_name = "NAME")]
    name: Option<String>,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Make a lab: the first time builds an image and boots (minutes), later ones load snapshots (seconds)
    Up(UpArgs),
    /// End a lab and remove everything of it
    Down {
        /// The lab [default: --name, or the only one]
        lab: Option<String>,
        /// End every lab
        #[arg(long, conflicts_with = "lab")]
        all: bool,
    },
    /// List the labs, what their nodes do, and the faults on their cables
    List {
        /// Print JSON (see `crosstie schema lab-list`)
        #[arg(long)]
        json: bool,
    },
    /// Log in to a node
    Ssh {
        node: String,
        /// As root instead of the user "lab"
        #[arg(long)]
        root: bool,
        /// Options and a command for ssh
        #[arg(last = true)]
        arguments: Vec<String>,
    },
    /// Run a command on a node, its arguments kept as they are; the exit status is the command's
    #[command(after_help = include_str!("../help/lab-exec.txt"))]
    Exec {
        /// As `crosstie lab list` names it
        #[arg(value_name = "NODE")]
        node: String,
        /// As root instead of the user "lab"
        #[arg(long)]
        root: bool,
        /// The command and its arguments, after `--`
        #[arg(value_name = "CMD", last = true, required = true)]
        command: Vec<String>,
    },
    /// Sit at a node's serial console; Ctrl-] leaves it
    Console { node: String },
    /// Reset nodes to where `up` left them, disk and memory
    Reset {
        #[arg(required_unless_present = "all")]
        nodes: Vec<String>,
        /// Every node, and take all faults off the cables
        #[arg(long, conflicts_with = "nodes")]
        all: bool,
    },
    /// Reboot nodes cleanly; one that is off is started
    Reboot {
        #[arg(required = true)]
        nodes: Vec<String>,
    },
    /// Take a node's power away in the middle of everything and boot it again
    PowerCut {
        node: String,
        /// Leave it off
        #[arg(long)]
        stay_off: bool,
    },
    /// Make a fault on a cable: cut, restore, loss 1%, delay 2ms, rate 1gbit, mtu 1500, reorder [25%]
    #[command(after_help = include_str!("../help/lab-fault.txt"))]
    Fault {
        /// The end of the cable; every cable of the node without a port
        #[arg(value_name = "NODE[:PORT]", required_unless_present = "show")]
        place: Option<String>,
        /// cut, restore, loss, delay, rate, mtu or reorder
        #[arg(value_name = "FAULT", required_unless_present = "show")]
        kind: Option<String>,
        /// How much of it: 1%, 2ms, 1gbit, 1500
        #[arg(value_name = "VALUE")]
        value: Option<String>,
        /// One direction: frames that the node sends, or those that are meant for it
        #[arg(long, value_name = "WAY", value_parser = one_of([("sent", FaultDirection::Sent), ("received", FaultDirection::Received)]))]
        only: Option<FaultDirection>,
        /// Print the faults and the frames lost to them, as JSON (see `crosstie schema lab-fault`)
        #[arg(long, conflicts_with_all = ["place", "only"])]
        show: bool,
    },
    /// Stop a node's CPUs: it keeps its links and answers nothing
    Pause { node: String },
    /// Let a paused node go on
    Resume { node: String },
    /// Take a node's power away and leave it off
    Kill { node: String },
    /// Serve cables (what `up` starts)
    #[command(hide = true)]
    Hub { config: PathBuf },
    /// Forward ssh to the containers of the lab at a directory (what `up` starts)
    #[command(hide = true)]
    Gateway { directory: PathBuf },
    /// Run a container of the lab at a directory (what `up` starts)
    #[command(hide = true)]
    Node { directory: PathBuf, node: String },
}

#[derive(Debug, Args)]
struct UpArgs {
    /// two-sparks, spark-and-workstation, mixed-arch, three-ring, switch-four, ib-fabric, or a TOML file
    #[arg(long, default_value = "two-sparks")]
    profile: String,
    /// Seed of what the cables lose and reorder
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Forward the first node's ssh from this port of 127.0.0.1, the others' from those after it [default: free ones]
    #[arg(long, value_name = "PORT")]
    ssh_port: Option<u16>,
    /// Boot the nodes anew instead of loading their kept snapshots
    #[arg(long)]
    fresh: bool,
    /// Containers instead of machines: systemd, sshd and network managers at full speed, but no RDMA; needs root
    #[arg(long, conflicts_with_all = ["seed", "fresh"])]
    containers: bool,
}

fn paths(directory: Option<&Path>) -> LabPaths {
    directory.map_or_else(|| LabPaths::new(&labs_folder()), LabPaths::named)
}

/// What `--lab NAME` stands for.
pub(crate) fn open(name: &str) -> Result<Lab> {
    Ok(Lab::open(&paths(None), name)?)
}

/// For whoever forgot `--lab`.
pub(crate) fn running() -> Vec<RunningLab> {
    let paths = paths(None);
    let names = crosstie_lab::names(&paths);
    let labs = names.iter().filter_map(|name| Lab::open(&paths, name).ok());
    labs.map(|lab| RunningLab {
        name: lab.name().to_owned(),
        nodes: lab
            .profile()
            .nodes
            .iter()
            .map(|node| node.name.clone())
            .collect(),
    })
    .collect()
}

/// Runs the verb; the exit code is 0 unless a command on a node says otherwise.
pub(crate) fn run(arguments: &LabArgs) -> Result<ExitCode> {
    let paths = paths(arguments.dir.as_deref());
    let started = Instant::now();
    let say = |text: &str| {
        let seconds = started.elapsed().as_secs_f64();
        output::print_behind(&format!("[{seconds:6.1} s] "), text);
    };
    let open = || Lab::open_or_only(&paths, arguments.name.as_deref());
    match &arguments.verb {
        Verb::Hub { config } => hub::serve(config)?,
        Verb::Gateway { directory } => crosstie_lab::serve_gateway(directory)?,
        Verb::Node { directory, node } => crosstie_lab::serve_node(directory, node)?,
        Verb::Up(up) => {
            let lab = up.run(&paths, arguments, &say)?;
            // `--lab` looks nowhere else.
            let next = match arguments.dir {
                None => format!("crosstie up --lab {}", lab.name()),
                Some(_) => scan_command(&lab),
            };
            output::print(&format!("{}Next: {next}\n", lab.welcome()))?;
        }
        Verb::Down { all: true, .. } => {
            // With those of tests, unless a directory was named.
            let of_tests = arguments.dir.is_none().then(LabPaths::of_tests);
            let labs = [Some(paths), of_tests].into_iter().flatten();
            let errors = labs.flat_map(|labs| crosstie_lab::down_all(&labs, &say));
            let tell = |error| output::print_sentences(&format!("{error}"));
            return Ok(exit::failed_if(errors.map(tell).count() > 0));
        }
        Verb::Down { lab, .. } => {
            let name = lab.as_deref().or(arguments.name.as_deref());
            crosstie_lab::down_one(&paths, name, &say)?;
        }
        Verb::List { json } => {
            let labs = crosstie_lab::list(&paths);
            output::report(*json, &labs, || match labs.as_slice() {
                [] => "no lab is up\n".to_owned(),
                labs => labs.iter().map(ToString::to_string).collect(),
            })?;
        }
        Verb::Ssh {
            node,
            root,
            arguments,
        } => {
            let mut command = open()?.ssh(node, user(*root))?;
            return exit_with(command.args(arguments));
        }
        Verb::Exec {
            node,
            root,
            command,
        } => {
            let mut ssh = open()?.exec_command(node, user(*root), command)?;
            return exit_with(&mut ssh);
        }
        Verb::Console { node } => {
            let line = open()?.open_console(node)?;
            join_serial_line(line).context("cannot share the console")?;
        }
        Verb::Reset { nodes, all } => {
            let lab = open()?;
            if *all {
                lab.reset_all()?;
            }
            for node in nodes {
                lab.reset(node)?;
            }
        }
        Verb::Reboot { nodes } => {
            let lab = open()?;
            nodes.iter().try_for_each(|node| lab.reboot(node))?;
        }
        Verb::PowerCut { node, stay_off } => {
            let lab = open()?;
            if *stay_off {
                lab.kill(node)?;
            } else {
                lab.power_cut(node)?;
            }
        }
        Verb::Fault {
            place: Some(place),
            kind: Some(kind),
            value,
            only,
            ..
        } => {
            let lab = open()?;
            lab.fault_in_words(place, kind, value.as_deref(), only.unwrap_or_default())?;
            output::print(&lab.status().faults_in_words())?;
        }
        Verb::Fault { .. } => output::print_json(&JsonDocument::new(&open()?.faults()?))?,
        Verb::Pause { node } => open()?.pause(node)?,
        Verb::Resume { node } => open()?.resume(node)?,
        Verb::Kill { node } => open()?.kill(node)?,
    }
    Ok(ExitCode::SUCCESS)
}

impl UpArgs {
    fn run(&self, paths: &LabPaths, of: &LabArgs, say: ReportProgress<'_>) -> Result<Lab> {
        let profile = LabProfile::find(&self.profile)?;
        let kind = if self.containers {
            LabKind::Containers
        } else {
            LabKind::Machines
        };
        let request = LabRequest {
            name: of.name.as_ref().unwrap_or(&profile.name).clone(),
            profile,
            kind,
            seed: self.seed,
            ssh_port: self.ssh_port,
            fresh: self.fresh,
            hub: hub_program()?,
        };
        let console = TerminalConsole::new(ColourChoice::Auto, false);
        end_children_on_signals().context("cannot watch for Ctrl-C")?;
        console.observe(ControlEvent::InterruptMessage(&interrupt_message(
            &request.name,
            of.dir.as_deref(),
        )));
        let lab = crosstie_lab::up(paths, &request, say);
        console.observe(ControlEvent::InterruptMessage(""));
        Ok(lab?)
    }
}

/// What whoever presses Ctrl-C during `up` is told: nodes that were started run on.
fn interrupt_message(name: &str, directory: Option<&Path>) -> String {
    let option = directory.map_or_else(String::new, |directory| {
        format!(" --dir {}", word(&directory.display().to_string()))
    });
    format!(
        "crosstie: interrupted; nodes that were started run on.\n  crosstie lab down {name}{option}    ends them"
    )
}

/// The nodes of a lab that only its ssh configuration leads to.
fn scan_command(lab: &Lab) -> String {
    CommandContext {
        nodes: lab
            .profile()
            .nodes
            .iter()
            .map(|node| node.name.clone())
            .collect(),
        ssh_config: Some(lab.ssh_config().display().to_string()),
        ..CommandContext::default()
    }
    .command(CommandVerb::Scan)
    .to_string()
}

fn hub_program() -> Result<LabProgram> {
    let program = std::env::current_exe().context("cannot find this program's own file")?;
    Ok(LabProgram::crosstie(program))
}

const fn user(root: bool) -> Option<&'static str> {
    if root { Some("root") } else { None }
}

fn exit_with(command: &mut Command) -> Result<ExitCode> {
    let status = command.status().context("cannot start ssh")?;
    // Ended by a signal: the shell's own convention has no number for "unknown", 255 is ssh's.
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(ExitCode::from(code.unwrap_or(255)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_interrupts_up_is_told_what_ends_its_nodes() {
        assert_eq!(
            interrupt_message("fh2", Some("my labs".as_ref())),
            "crosstie: interrupted; nodes that were started run on.\n  crosstie lab down fh2 --dir 'my labs'    ends them"
        );
    }
}
