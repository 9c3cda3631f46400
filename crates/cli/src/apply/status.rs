//! `crosstie status`.

use std::process::ExitCode;

use clap::ColorChoice;
use crosstie_agent::NodeCalls;
use crosstie_model::change::{Ask, Changed, NodeStatus};
use crosstie_reach::{BOUND, SessionError};
use crosstie_report::status::{Node, Status, view};

use super::{args, ask::Limits};
use crate::{exit, output, targets};

/// A node is not believed to have much to say.
const MOST: usize = 1000;

pub(crate) fn run(arguments: &args::Status, colour: ColorChoice) -> anyhow::Result<ExitCode> {
    let targets = arguments.chosen.targets(&arguments.root);
    let (_, fleet) = targets::existing(&targets, true, colour)?;
    let limit = Limits::default().answer;
    let answers =
        fleet.call_all(
            BOUND,
            fleet.patience(limit),
            move |_, session, progress| match session.change(&Ask::Status, limit, progress)? {
                Changed::Status(status) => Ok(bounded(status)),
                _ => Err(SessionError::WrongAnswer.into()),
            },
        );
    let nodes = answers
        .into_iter()
        .map(|(name, answer)| Node::new(&name, answer))
        .collect();
    let status = Status { nodes };
    if arguments.json {
        output::print(&output::json(&status)?)?;
    } else {
        output::print(&view(&status, output::palette(colour)))?;
    }
    let nodes = &status.nodes;
    Ok(if nodes.iter().any(|node| node.error.is_some()) {
        exit::tool_failed()
    } else if nodes.iter().any(Node::wants_a_look) {
        exit::faults()
    } else {
        exit::CLEAN
    })
}

fn bounded(mut status: NodeStatus) -> NodeStatus {
    status.transactions.truncate(MOST);
    status.drift.truncate(MOST);
    status
}
