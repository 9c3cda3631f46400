//! A node that is made up.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use crosstie_agent::CallError;
use crosstie_model::change::{
    ArmedChange, ChangeError, ChangeReply, ChangeRequest, NodeChangeStatus, ProbeResult,
    ReachabilityProbe, RollbackReport, TransactionKind, TransactionState, TransactionStatus,
};
use crosstie_reach::{NodeStage, Session, SessionError};

use crate::{
    Connector, NodeError,
    fake_session::{FakeNode, FakeSession, transaction},
};

#[derive(Clone)]
pub(super) struct Fake {
    pub(super) name: String,
    inner: Arc<Mutex<Inner>>,
}

#[derive(Default)]
struct Inner {
    log: Vec<String>,
    reaches: Vec<ReachabilityProbe>,
    cut: Vec<ReachabilityProbe>,
    changed: bool,
    answers: HashMap<&'static str, Answer>,
    shut: u32,
    /// Oldest first.
    journal: Vec<TransactionStatus>,
    /// How often it still sees anything.
    sees: Option<u32>,
    kept: Option<Box<dyn Session>>,
}

#[derive(Clone)]
pub(super) enum Answer {
    Lost,
    Says(ChangeError),
    /// And then does what it is asked.
    SaysOnce(ChangeError),
}

impl Fake {
    pub(super) fn new(name: &str) -> Arc<Self> {
        Arc::new(Self {
            name: name.to_owned(),
            inner: Arc::default(),
        })
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap()
    }

    pub(super) fn reaching(self: Arc<Self>, probes: &[ReachabilityProbe]) -> Arc<Self> {
        self.inner().reaches = probes.to_vec();
        self
    }

    /// What does not answer after the change.
    pub(super) fn cuts_off(&self, probes: &[ReachabilityProbe]) {
        self.inner().cut = probes.to_vec();
    }

    pub(super) fn answers(&self, ask: &'static str, answer: Answer) {
        self.inner().answers.insert(ask, answer);
    }

    /// So many new connections fail.
    pub(super) fn shuts(&self, times: u32) {
        self.inner().shut = times;
    }

    pub(super) fn stands(&self, state: Option<TransactionState>) {
        let stands = state.map(|state| transaction(TransactionKind::Apply, state));
        self.holds(stands.as_slice());
    }

    /// What its journals say, oldest first.
    pub(super) fn holds(&self, journal: &[TransactionStatus]) {
        self.inner().journal = journal.to_vec();
    }

    /// Transactions that are not rolled back.
    pub(super) fn in_force(&self) -> Vec<String> {
        let inner = self.inner();
        let live = inner.journal.iter().filter(|one| one.is_in_force());
        live.map(|one| one.id.clone()).collect()
    }

    pub(super) fn forgets_after(&self, times: u32) {
        self.inner().sees = Some(times);
    }

    pub(super) fn log(&self) -> Vec<String> {
        self.inner().log.clone()
    }

    fn open(&self, over: &'static str) -> Box<dyn Session> {
        let node = self.clone();
        let connection = Connection { node, over };
        Box::new(FakeSession {
            name: self.name.clone(),
            node: Mutex::new(connection),
        })
    }

    fn note(&self, over: &str, what: &str) {
        self.inner().log.push(format!("{over}: {what}"));
    }

    fn answer(
        &self,
        over: &str,
        ask: &ChangeRequest,
    ) -> Result<ChangeReply, CallError<ChangeError>> {
        let (kind, line) = match ask {
            ChangeRequest::Apply(_) => ("apply", "apply".to_owned()),
            ChangeRequest::Try(_) => ("try", "try".to_owned()),
            ChangeRequest::Confirm { transaction } => ("confirm", format!("confirm {transaction}")),
            ChangeRequest::Rollback { transaction, .. } => {
                let transaction = transaction.as_deref().unwrap_or("the last");
                ("rollback", format!("rollback {transaction}"))
            }
            ChangeRequest::Uninstall { .. } => ("uninstall", "uninstall".to_owned()),
            ChangeRequest::Status => ("status", "status".to_owned()),
        };
        self.note(over, &line);
        if let Some(error) = self.told(kind) {
            return Err(error);
        }
        if let ChangeRequest::Rollback {
            transaction, only, ..
        } = ask
        {
            self.undo(transaction.as_deref(), only.as_deref())?;
        }
        Ok(self.do_it(ask))
    }

    /// What it was told to answer.
    fn told(&self, kind: &str) -> Option<CallError<ChangeError>> {
        let answer = self.inner().answers.get(kind).cloned();
        if matches!(answer, Some(Answer::SaysOnce(_))) {
            self.inner().answers.remove(kind);
        }
        Some(match answer? {
            Answer::Lost => CallError::Session(SessionError::Silent {
                after: Duration::from_secs(15),
            }),
            Answer::Says(error) | Answer::SaysOnce(error) => CallError::Call(error),
        })
    }

    fn reach(&self, over: &str, probes: &[ReachabilityProbe]) -> Vec<ProbeResult> {
        self.note(over, &format!("reach {}", addresses(probes)));
        let mut inner = self.inner();
        let sees = inner.sees != Some(0);
        inner.sees = inner.sees.map(|times| times.saturating_sub(1));
        let passes = |probe: &ReachabilityProbe| {
            let cut = inner.changed && inner.cut.contains(probe);
            sees && inner.reaches.contains(probe) && !cut
        };
        let answers = probes.iter().map(|probe| ProbeResult {
            probe: probe.clone(),
            problem: (!passes(probe)).then(|| "no answer".to_owned()),
            neighbour: None,
        });
        answers.collect()
    }

    /// The named one, and what came after it.
    fn undo(
        &self,
        named: Option<&str>,
        only: Option<&[String]>,
    ) -> Result<(), CallError<ChangeError>> {
        let mut inner = self.inner();
        let live = inner.journal.iter_mut().filter(|one| one.is_in_force());
        let undone: Vec<_> = match named {
            Some(id) => live.skip_while(|one| one.id != id).collect(),
            None => live.last().into_iter().collect(),
        };
        let is_newer = |id: &String| only.is_some_and(|only| !only.contains(id));
        if let Some(newer) = undone.iter().find(|one| is_newer(&one.id)) {
            let transaction = newer.id.clone();
            return Err(CallError::Call(ChangeError::Newer { transaction }));
        }
        for one in undone {
            one.state = TransactionState::RolledBack;
        }
        Ok(())
    }

    fn do_it(&self, ask: &ChangeRequest) -> ChangeReply {
        let mut inner = self.inner();
        match ask {
            ChangeRequest::Apply(order) if order.plan.steps.is_empty() => ChangeReply::Nothing,
            ChangeRequest::Apply(_) | ChangeRequest::Try(_) => {
                inner.changed = true;
                ChangeReply::Armed(ArmedChange {
                    transaction: "7".to_owned(),
                    seconds_left: 100,
                    ended: None,
                })
            }
            ChangeRequest::Confirm { .. } => ChangeReply::Confirmed,
            ChangeRequest::Rollback { .. } | ChangeRequest::Uninstall { .. } => {
                inner.changed = false;
                ChangeReply::RolledBack(RollbackReport {
                    left: vec!["a module".to_owned()],
                    ..RollbackReport::default()
                })
            }
            ChangeRequest::Status => ChangeReply::Status(NodeChangeStatus {
                transactions: inner.journal.clone(),
                drift: Vec::new(),
            }),
        }
    }
}

fn addresses(probes: &[ReachabilityProbe]) -> String {
    let address = |probe: &ReachabilityProbe| match probe {
        ReachabilityProbe::Ping { address, .. } => address.to_string(),
        ReachabilityProbe::Greeting { address } => address.to_string(),
    };
    probes.iter().map(address).collect::<Vec<_>>().join(" ")
}

/// The connector of a node is a handle on it.
impl Connector for Fake {
    fn name(&self) -> &str {
        &self.name
    }

    fn session(&self, _: &dyn Fn(NodeStage)) -> Result<Box<dyn Session>, NodeError> {
        let kept = self.inner().kept.take();
        Ok(kept.unwrap_or_else(|| self.open("first")))
    }

    fn fresh(&self, _: Duration, _: &dyn Fn(NodeStage)) -> Result<Box<dyn Session>, NodeError> {
        let mut inner = self.inner();
        if inner.shut > 0 {
            inner.shut -= 1;
            inner.log.push("fresh: shut".to_owned());
            return Err(NodeError::Busy);
        }
        inner.log.push("fresh: opened".to_owned());
        drop(inner);
        Ok(self.open("fresh"))
    }

    fn keep(&self, session: Box<dyn Session>) {
        let before = self.inner().kept.replace(session);
        drop(before);
    }
}

struct Connection {
    node: Fake,
    over: &'static str,
}

impl FakeNode for Connection {
    fn change(&mut self, ask: &ChangeRequest) -> Result<ChangeReply, CallError<ChangeError>> {
        self.node.answer(self.over, ask)
    }

    fn reach(&mut self, probes: &[ReachabilityProbe]) -> Result<Vec<ProbeResult>, SessionError> {
        Ok(self.node.reach(self.over, probes))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if self.over == "first" {
            self.node.note(self.over, "closed");
        }
    }
}
