//! Which run is rolled back, by what the nodes' journals say.

use crosstie_model::change::{NodeChangeStatus, TransactionStatus};
use crosstie_report::rollback::{NodeRollbackPlan, RollbackPlan, RollbackSkipReason};

use super::run_id::compact;
use crate::NodeError;

/// A node, and what it said or why it did not.
pub(super) type NodeStatusReply = (String, Result<NodeChangeStatus, NodeError>);

/// Why no run can be chosen.
#[derive(Debug, thiserror::Error)]
pub enum ChooseRunError {
    #[error("no node knows the run {id}")]
    Unknown { id: String },
    #[error(
        "{id} is a change of its own on each of {}: name one of these nodes beside --run",
        .nodes.join(", ")
    )]
    Ambiguous { id: String, nodes: Vec<String> },
    #[error(
        "no run is the newest on every node that it changed, so which comes first is not known: pass --run with one of {}",
        .runs.join(", ")
    )]
    NoNewest { runs: Vec<String> },
}

/// Sorted by time: a run by its id, a change without one by when it was begun, and that is a run of its own.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Run {
    time: String,
    /// Of a change without a run: its node, and its transaction there.
    alone: Option<(usize, String)>,
}

impl Run {
    fn of(node: usize, one: &TransactionStatus) -> Self {
        match &one.run {
            Some(run) => Self {
                time: run.clone(),
                alone: None,
            },
            None => Self {
                time: compact(&one.began),
                alone: Some((node, one.id.clone())),
            },
        }
    }

    /// As `--run` takes it.
    fn id(&self) -> &str {
        let alone = self.alone.as_ref();
        alone.map_or(&self.time, |(_, transaction)| transaction)
    }
}

/// The run that `named` names and, on a node, everything after it; or the newest that is in force.
pub(super) fn choose_run(
    nodes: &[NodeStatusReply],
    named: Option<&str>,
) -> Result<RollbackPlan, ChooseRunError> {
    if let Some(id) = named {
        let is_run = |one: &TransactionStatus| one.run.as_deref() == Some(id);
        // A change without a run is one of its own, on its node alone.
        let is_alone = |one: &TransactionStatus| one.run.is_none() && one.id == id;
        let is_known = transactions(nodes).any(|(_, one)| is_run(one));
        let is_it = |_: usize, one: &TransactionStatus| {
            if is_known { is_run(one) } else { is_alone(one) }
        };
        let mut alone: Vec<String> = transactions(nodes)
            .filter(|(_, one)| !is_known && is_alone(one) && one.is_in_force())
            .filter_map(|(node, _)| nodes.get(node))
            .map(|(name, _)| name.clone())
            .collect();
        alone.dedup();
        if alone.len() > 1 {
            return Err(ChooseRunError::Ambiguous {
                id: id.to_owned(),
                nodes: alone,
            });
        }
        let is_known = transactions(nodes).any(|(node, one)| is_it(node, one));
        // Where a node did not answer, it may know.
        if !is_known && nodes.iter().all(|(_, answer)| answer.is_ok()) {
            return Err(ChooseRunError::Unknown { id: id.to_owned() });
        }
        return Ok(plan_rollback(nodes, Some(id.to_owned()), is_it));
    }
    let Some(run) = newest(nodes)? else {
        return Ok(plan_rollback(nodes, None, |_, _| false));
    };
    let id = run.id().to_owned();
    Ok(plan_rollback(nodes, Some(id), |node, one| {
        Run::of(node, one) == run
    }))
}

fn transactions(nodes: &[NodeStatusReply]) -> impl Iterator<Item = (usize, &TransactionStatus)> {
    let answers = nodes.iter().enumerate();
    answers.flat_map(|(node, (_, answer))| {
        let status = answer.iter();
        status
            .flat_map(|status| &status.transactions)
            .map(move |one| (node, one))
    })
}

fn in_force(status: &NodeChangeStatus) -> impl DoubleEndedIterator<Item = &TransactionStatus> {
    let all = status.transactions.iter();
    all.filter(|one| one.is_in_force())
}

/// Of the runs that are the last in force on every node that they are in force on, the newest. Clocks of controllers may
/// differ, and each node's own order counts more.
fn newest(nodes: &[NodeStatusReply]) -> Result<Option<Run>, ChooseRunError> {
    let answers = || nodes.iter().enumerate();
    let answers =
        || answers().filter_map(|(node, (_, answer))| Some((node, answer.as_ref().ok()?)));
    let last = answers().filter_map(|(node, status)| {
        let last = in_force(status).next_back()?;
        Some(Run::of(node, last))
    });
    let mut last: Vec<Run> = last.collect();
    last.sort();
    last.dedup();
    let is_last_everywhere = |run: &&Run| {
        answers().all(|(node, status)| {
            let mut newest_first = in_force(status)
                .rev()
                .map(|one| Run::of(node, one) == **run);
            newest_first.next() == Some(true) || newest_first.all(|is_it| !is_it)
        })
    };
    match last.iter().rfind(is_last_everywhere) {
        Some(run) => Ok(Some(run.clone())),
        None if last.is_empty() => Ok(None),
        None => {
            let runs = last.iter().map(|run| run.id().to_owned()).collect();
            Err(ChooseRunError::NoNewest { runs })
        }
    }
}

/// `is_it`: whether this transaction of this node is part of the run.
fn plan_rollback(
    nodes: &[NodeStatusReply],
    run: Option<String>,
    is_it: impl Fn(usize, &TransactionStatus) -> bool,
) -> RollbackPlan {
    let left = |node: usize, status: &NodeChangeStatus| {
        if run.is_none() {
            RollbackSkipReason::NothingToUndo
        } else if status.transactions.iter().any(|one| is_it(node, one)) {
            RollbackSkipReason::AlreadyRolledBack
        } else {
            RollbackSkipReason::NotPartOfIt
        }
    };
    let part = |(index, (name, answer)): (usize, &NodeStatusReply)| match answer {
        Err(why) => NodeRollbackPlan::failed(name, &why.line()),
        Ok(status) => {
            let undone = in_force(status).skip_while(|one| !is_it(index, one));
            let mut undone: Vec<TransactionStatus> = undone.cloned().collect();
            undone.reverse();
            if undone.is_empty() {
                NodeRollbackPlan::left_alone(name, left(index, status))
            } else {
                NodeRollbackPlan::undone(name, undone)
            }
        }
    };
    let parts = nodes.iter().enumerate().map(part).collect();
    RollbackPlan { nodes: parts, run }
}
