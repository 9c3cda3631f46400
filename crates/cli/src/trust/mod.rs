//! `crosstie trust`.

mod args;
mod host_keys;
mod install;
mod login;
mod node;
mod refresh;
mod show;
mod undo;
mod visits;

use std::{ffi::OsString, io::Write, process::ExitCode};

use anyhow::{Context, bail};
use clap::ColorChoice;
use crosstie_node::{
    scratch::Scratch,
    trust::{Ask, Home, Settle, Settled, answer},
};
use crosstie_reach::askpass;
use crosstie_trust::{Name, Owner};

use crate::{exit, output};
pub(crate) use args::TrustArgs;
use login::Asking;
use node::{Node, Outcome};
pub(crate) use refresh::refresh;
use show::Report;

/// This machine, whoever sits at it.
struct Controller {
    home: Home,
    name: Name,
}

impl Controller {
    fn find() -> anyhow::Result<Self> {
        let system = rustix::system::uname();
        let name = system.nodename().to_string_lossy().parse();
        let name = match name {
            Ok(name) => name,
            Err(_) => "controller".parse()?,
        };
        Ok(Self {
            home: Home::find()?,
            name,
        })
    }

    fn owner(&self) -> Owner {
        Owner {
            user: self.home.user.clone(),
            name: self.name.clone(),
        }
    }

    fn ask(&self, ask: &Ask) -> anyhow::Result<Settled> {
        answer(&self.home, ask, None).context("this machine")
    }

    fn nothing(&self, dry_run: bool) -> Settle {
        Settle {
            own: self.name.clone(),
            authorize: Vec::new(),
            peers: Vec::new(),
            reached: Vec::new(),
            dry_run,
        }
    }

    /// What is here, without touching it.
    fn look(&self) -> anyhow::Result<Settled> {
        self.ask(&Ask::Settle(self.nothing(true)))
    }
}

pub(crate) fn run(args: &TrustArgs, colour: ColorChoice) -> anyhow::Result<ExitCode> {
    crosstie_reach::end_children_on_signals().context("cannot watch for Ctrl-C")?;
    let scratch = Scratch::new().context("cannot make a folder for this run")?;
    let controller = Controller::find()?;
    let report = if args.undo {
        undo::run(args, &controller, &scratch, colour)?
    } else {
        install::run(args, &controller, &scratch, Asking::Person, colour)?
    };
    if args.json {
        output::print(&output::json(&report)?)?;
    } else {
        output::print(&report.view(output::palette(colour)))?;
    }
    Ok(if report.failed() {
        exit::tool_failed()
    } else {
        exit::CLEAN
    })
}

/// Each under a name of its own, which its host key and its lines go by.
fn nodes(
    destinations: &[String],
    args: &TrustArgs,
    controller: &Controller,
) -> anyhow::Result<Vec<Node>> {
    let mut nodes: Vec<Node> = Vec::new();
    for destination in destinations {
        let node = Node::new(destination, args, &controller.name)?;
        if let Some(other) = nodes.iter().find(|other| other.name == node.name) {
            bail!(
                "{} and {} are both called {}: give one of them another name in your ssh configuration (Host, HostName)",
                other.label,
                node.label,
                node.name
            );
        }
        nodes.push(node);
    }
    Ok(nodes)
}

/// ssh runs this program to ask for a password; then it is nothing else.
pub(crate) fn answer_ssh() -> Option<ExitCode> {
    let socket = std::env::var_os(askpass::SOCKET)?;
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let [question] = arguments.as_slice() else {
        return None;
    };
    let answer = askpass::ask(socket.as_ref(), &question.to_string_lossy()).unwrap_or_default();
    let said = std::io::stdout().write_all(&answer);
    // A failure is a refusal, and ssh goes on to the next way to log in.
    Some(if answer.is_empty() || said.is_err() {
        ExitCode::FAILURE
    } else {
        exit::CLEAN
    })
}
