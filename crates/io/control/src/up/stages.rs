//! The stages, one after the other.

use crosstie_launch::format::{self, EnvFormat, NodeEnvironment};
use crosstie_model::{ClusterPlan, ClusterSpec};
use crosstie_report::{
    change::NodeChangeOutcome,
    doctor::FindingCounts,
    reachability,
    suggested_command::CommandVerb,
    up::{NodeEngineSettings, UpStage, stopping},
};

use super::{
    UpHalt,
    prove::prove,
    run::{InterruptedUp, StageResult, UpRunner},
    settle_open_changes::{SettleTimeouts, settle_interrupted},
};
use crate::{
    CablingListenError, CommandVerdict, ControlEvent, FleetSnapshot, NodeFacts, SnapshotError,
    apply::{self, no_root},
    chain_of,
    doctor::foreseen,
    files::{self, folder_name, make_folder},
    init::{CablingDiscovery, InitError, InitOptions, discover},
    plan, trust,
};

impl UpRunner<'_> {
    pub(super) fn all(&mut self) -> Result<(), UpHalt> {
        let first = self.stage(UpStage::Scan, Self::scan)?;
        let discovered = self.stage(UpStage::Cabling, |run| run.cabling(&first))?;
        let spec = &discovered.merged.spec;
        let (nodes, plan) = self.stage(UpStage::Doctor, |run| run.doctor(&first, spec))?;
        self.stage(UpStage::Plan, |run| run.plan(&plan))?;
        self.stage(UpStage::Apply, |run| run.apply(&plan, spec, &nodes))?;
        let (nodes, plan) = self.stage(UpStage::Proof, |run| run.proof(&plan, spec, &nodes))?;
        let measured = self.stage(UpStage::Measure, |run| run.measure(spec, &nodes));
        self.refresh_trust();
        // Slow nodes have their settings, too.
        self.stage(UpStage::Env, |run| run.env(&plan))?;
        measured
    }

    fn scan(&mut self) -> StageResult<Vec<NodeFacts>> {
        self.settle_interrupted()?;
        let nodes = self.look()?;
        let hosts = nodes.iter().map(|node| node.facts.host.name.as_str());
        self.tell(ControlEvent::HostNames(&hosts.collect::<Vec<_>>()));
        let summary = match nodes.len() {
            1 => "1 node".to_owned(),
            nodes => format!("{nodes} nodes"),
        };
        Ok((nodes, summary))
    }

    fn look(&self) -> Result<Vec<NodeFacts>, UpHalt> {
        let nodes = FleetSnapshot::take(&self.fleet).as_root(no_root);
        nodes.map_err(|error| match &error {
            SnapshotError::Unread(failed) => {
                self.tell(ControlEvent::NodesFailed(failed));
                UpHalt::stop(&error, CommandVerdict::Failed)
            }
            _ => error.into(),
        })
    }

    /// No change is begun on top of one that is open: what an earlier run left open is rolled back.
    fn settle_interrupted(&mut self) -> Result<(), UpHalt> {
        let patience = SettleTimeouts::default();
        if let Some(InterruptedUp { stage, since }) = self.before.take() {
            let note = format!("the run of {since} was cut short at {stage}");
            self.up.notes.push(note);
        }
        let ours = self.unsettled.take();
        let longest = patience.last * 2;
        let answers = self.fleet.call(longest, move |_, session, progress| {
            settle_interrupted(session, ours.as_deref(), patience, progress)
        });
        let mut failed = Vec::new();
        for (node, answer) in answers {
            match answer {
                Ok(None) => {}
                Ok(Some(done)) => self.up.notes.push(format!("{node}: {done}")),
                Err(error) => {
                    failed.push(format!("{node}: {}", error.line()));
                    self.failing.push(node);
                }
            }
        }
        if failed.is_empty() {
            self.all_settled();
            return Ok(());
        }
        Err(UpHalt::Stop {
            why: failed.join("; "),
            verdict: CommandVerdict::Failed,
        })
    }

    fn cabling(&mut self, nodes: &[NodeFacts]) -> StageResult<CablingDiscovery> {
        let existing = self.existing.take();
        let options = InitOptions {
            file: &self.options.file,
            existing: existing.as_ref(),
            name: self.options.name.as_deref(),
            dry_run: false,
            seconds: None,
        };
        let discovered = discover(&self.fleet, nodes, &options);
        let discovered = discovered.map_err(|error| match &error {
            InitError::Listen(CablingListenError::NotAsked(failed)) => {
                self.tell(ControlEvent::NodesFailed(failed));
                UpHalt::stop(&error, CommandVerdict::Failed)
            }
            _ => error.into(),
        })?;
        self.open_record(&discovered.merged.spec.name)?;
        self.up.cabling = Some(discovered.found.clone());
        self.tell(ControlEvent::Cabled(&discovered));
        if discovered.merged.spec.cables.is_empty() {
            return Err(UpHalt::Stop {
                why: "no port heard another node".to_owned(),
                verdict: CommandVerdict::Faults,
            });
        }
        let summary = match discovered.found.cables.len() {
            0 => "no cable heard; those of the cluster file stand".to_owned(),
            1 => "1 cable".to_owned(),
            cables => format!("{cables} cables"),
        };
        Ok((discovered, summary))
    }

    /// A second look, since listening may have had links up; and what grew since the first is seen.
    fn doctor(
        &mut self,
        first: &[NodeFacts],
        spec: &ClusterSpec,
    ) -> StageResult<(Vec<NodeFacts>, ClusterPlan)> {
        let nodes = self.look()?;
        let plan = plan::plan_with_errors(spec, &nodes, Some(&self.options.file))?;
        self.up.findings = foreseen(&nodes, Some(first), spec, Some(&plan));
        let offer = &self.fleet.options().offer;
        let all = offer
            .command(CommandVerb::Doctor)
            .flag("all", true)
            .as_root();
        self.tell(ControlEvent::Diagnosed {
            seen: &self.up.findings,
            doctor: &all.to_string(),
        });
        let stopping = FindingCounts::of_roots(&stopping(&self.up.findings)).faults;
        let summary = match stopping {
            0 => "no fault that the plan does not mend".to_owned(),
            1 => "1 fault that the plan does not mend".to_owned(),
            faults => format!("{faults} faults that the plan does not mend"),
        };
        if stopping > 0 && !self.options.apply.force {
            return Err(UpHalt::Stop {
                why: summary,
                verdict: CommandVerdict::Faults,
            });
        }
        Ok(((nodes, plan), summary))
    }

    fn plan(&mut self, plan: &ClusterPlan) -> StageResult<()> {
        self.tell(ControlEvent::Planned(plan));
        if plan.is_refused() {
            return Err(UpHalt::Stop {
                why: "the plan is refused".to_owned(),
                verdict: CommandVerdict::Faults,
            });
        }
        let approved = apply::ask_approval(plan, self.options.apply.guard, self.consent);
        approved.map_err(|error| {
            if error.is_no() {
                UpHalt::stop(&error, CommandVerdict::Faults)
            } else {
                error.into()
            }
        })?;
        let working = plan.nodes.iter().filter(|node| !node.steps.is_empty());
        let summary = match working.count() {
            0 => "nothing to do".to_owned(),
            1 => "1 node changes".to_owned(),
            nodes => format!("{nodes} nodes change"),
        };
        Ok(((), summary))
    }

    fn apply(
        &mut self,
        plan: &ClusterPlan,
        spec: &ClusterSpec,
        nodes: &[NodeFacts],
    ) -> StageResult<()> {
        let options = &self.options.apply;
        let changes = apply::change_nodes(plan, &self.id, spec, &self.fleet, nodes, options)?;
        let verdict = CommandVerdict::of(&changes, false);
        let bad = changes.nodes.iter();
        let bad = bad.filter(|change| !change.outcome.is_fine());
        self.failing = bad.map(|change| change.node.clone()).collect();
        let cause = |outcome| {
            !matches!(
                outcome,
                NodeChangeOutcome::NotBegun
                    | NodeChangeOutcome::Unchanged
                    | NodeChangeOutcome::Confirmed
            )
        };
        let first = changes.nodes.iter().find(|change| cause(change.outcome));
        let first = first.map(|change| &change.node).or(self.failing.first());
        let why = first.map(|node| format!("{node} did not come through"));
        for change in &changes.nodes {
            let told = change.notes.iter();
            let told = told.map(|note| format!("{}: {note}", change.node));
            self.up.notes.extend(told);
        }
        self.up.run = changes.run;
        self.up.changes = changes.nodes;
        match why {
            None => Ok(((), "every node is as planned".to_owned())),
            Some(why) => Err(UpHalt::Stop { why, verdict }),
        }
    }

    /// The proof, and a last look: what is left is what is read, not what was foreseen. The plan of that look has the
    /// settings that hold now.
    fn proof(
        &mut self,
        plan: &ClusterPlan,
        spec: &ClusterSpec,
        nodes: &[NodeFacts],
    ) -> StageResult<(Vec<NodeFacts>, ClusterPlan)> {
        let facts: Vec<_> = nodes.iter().map(|node| (*node.facts).clone()).collect();
        let proof = prove(&self.fleet, plan, spec, &facts);
        self.tell(ControlEvent::Proven(&proof));
        let holds = proof.holds() && !proof.pairs.is_empty();
        let verdict = reachability::verdict(&proof).text().to_owned();
        let summary = format!("{} directions answered", proof.pairs.len());
        self.up.proof = Some(proof);
        let after = self.look()?;
        self.up.left = foreseen(&after, None, spec, None);
        if !holds {
            return Err(UpHalt::Stop {
                why: verdict,
                verdict: CommandVerdict::Faults,
            });
        }
        let again = plan::plan_with_errors(spec, &after, Some(&self.options.file))?;
        if again.has_work() {
            let offer = &self.fleet.options().offer;
            let note = format!(
                "there is more to do now: {}",
                offer.command(CommandVerb::Up)
            );
            self.up.notes.push(note);
        }
        Ok(((after, again), summary))
    }

    /// Nodes that trust each other find each other on the fabric too, now that it is proven. Nobody is asked, and a failure
    /// costs nobody the work.
    fn refresh_trust(&mut self) {
        match trust::refresh(&self.fleet.names(), self.fleet.options()) {
            Ok(notes) => self.up.notes.extend(notes),
            Err(error) => {
                let note = format!("trust was not renewed: {}", chain_of(&error));
                self.up.notes.push(note);
            }
        }
    }

    fn env(&mut self, plan: &ClusterPlan) -> StageResult<()> {
        let folder = self.folder().map(|folder| folder.join("env"));
        if let Some(folder) = &folder {
            make_folder(folder)?;
        }
        for node in &plan.nodes {
            let mut environment = NodeEngineSettings {
                node: node.node.clone(),
                file: None,
                settings: node.settings.clone(),
            };
            if let Some(folder) = &folder {
                let name = folder_name(&node.node)?.display();
                let path = folder.join(format!("{name}.sh"));
                let settings = NodeEnvironment {
                    node: node.node.clone(),
                    cluster: plan.cluster.clone(),
                    settings: node.settings.clone(),
                    has_gpus: false,
                };
                files::replace(&path, &format::write(EnvFormat::Sh, &[settings])?)?;
                environment.file = Some(path.display().to_string());
            }
            self.up.environments.push(environment);
        }
        self.tell(ControlEvent::Settings(&self.up.environments));
        let summary = match self.up.environments.len() {
            1 => "settings of 1 node".to_owned(),
            nodes => format!("settings of {nodes} nodes"),
        };
        Ok(((), summary))
    }
}
