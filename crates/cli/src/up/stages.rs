//! The stages, one after the other.

use crosstie_model::{Facts, Plan, Spec};
use crosstie_reach::BOUND;
use crosstie_report::{
    change::Outcome,
    proof,
    up::{Environment, Stage, environments, findings, script},
};

use super::{
    diagnosis::Ward,
    prove::prove,
    record,
    run::{CutShort, Ended, Halt, Run},
    settle::{Patience, settle},
};
use crate::{
    apply::{self, Means},
    args::Ways,
    exit,
    init::{self, Discovered, Place, discover},
    lab,
    look::{Looked, look},
    output, plan, trust,
};

/// Seconds to listen for emulated nodes, whose agents may begin far apart.
const LISTEN_LAB: u32 = 12;

impl Run<'_> {
    pub(super) fn all(&mut self) -> Result<(), Halt> {
        let first = self.stage(Stage::Scan, Self::scan)?;
        let discovered = self.stage(Stage::Cabling, |run| run.cabling(&first))?;
        let spec = &discovered.merged.spec;
        let (looked, plan) = self.stage(Stage::Doctor, |run| run.doctor(&first, spec))?;
        self.stage(Stage::Plan, |run| run.plan(&plan))?;
        self.stage(Stage::Apply, |run| run.apply(&plan, spec, &looked))?;
        let after = self.stage(Stage::Proof, |run| run.proof(&plan, spec, &looked))?;
        self.refresh_trust();
        self.stage(Stage::Env, |run| run.env(&after))
    }

    fn scan(&mut self) -> Ended<Vec<Looked>> {
        self.settle()?;
        let looked = self.look()?;
        let hosts = looked.iter().map(|node| node.facts.host.name.as_str());
        self.live.rename(hosts);
        let says = match looked.len() {
            1 => "1 node".to_owned(),
            nodes => format!("{nodes} nodes"),
        };
        Ok((looked, says))
    }

    fn look(&self) -> Result<Vec<Looked>, Halt> {
        look(&self.fleet, apply::no_root)?.ok_or_else(|| Halt::Stop {
            why: "a node could not be read".to_owned(),
            code: exit::tool_failed(),
        })
    }

    /// No change is begun on top of one that is open.
    fn settle(&mut self) -> Result<(), Halt> {
        let patience = Patience::default();
        let cut_short = self.before.take();
        if let Some(CutShort { stage, since, .. }) = &cut_short {
            let note = format!("the run of {since} was cut short at {stage}");
            self.up.notes.push(note);
        }
        let ours = cut_short.and_then(|cut_short| cut_short.run);
        let answers = self.fleet.call_all(
            BOUND,
            self.fleet.patience(patience.last * 2),
            move |_, session, progress| Ok(settle(session, ours.as_deref(), patience, progress)?),
        );
        let mut failed = Vec::new();
        for (node, answer) in answers {
            match answer {
                Ok(None) => {}
                Ok(Some(done)) => self.up.notes.push(format!("{node}: {done}")),
                Err(why) => {
                    failed.push(format!("{node}: {why}"));
                    self.failing.push(node);
                }
            }
        }
        if failed.is_empty() {
            return Ok(());
        }
        Err(Halt::Stop {
            why: failed.join("; "),
            code: exit::tool_failed(),
        })
    }

    fn cabling(&mut self, looked: &[Looked]) -> Ended<Discovered> {
        let existing = self.existing.take();
        let place = Place {
            path: &self.arguments.members.output,
            existing: existing.as_ref(),
            name: self.arguments.members.lab.as_deref().unwrap_or(init::NAME),
            dry_run: false,
        };
        let longer = self.arguments.members.lab.is_some().then_some(LISTEN_LAB);
        let found = discover(&self.fleet, looked, &place, longer)?;
        let discovered = found.ok_or_else(|| Halt::Stop {
            why: "a node could not be asked".to_owned(),
            code: exit::tool_failed(),
        })?;
        self.is_called(&discovered.merged.spec.name)?;
        self.up.cabling = Some(discovered.found.clone());
        let drawing = discovered.view(output::palette(self.colour));
        self.say(&format!("{drawing}\n"))?;
        if discovered.merged.spec.cables.is_empty() {
            return Err(Halt::Stop {
                why: "no port heard another node".to_owned(),
                code: exit::faults(),
            });
        }
        let says = match discovered.found.cables.len() {
            0 => "no cable heard; those of the cluster file stand".to_owned(),
            1 => "1 cable".to_owned(),
            cables => format!("{cables} cables"),
        };
        Ok((discovered, says))
    }

    /// A second look, since listening may have had links up; and what grew since the first is seen.
    fn doctor(&mut self, first: &[Looked], spec: &Spec) -> Ended<(Vec<Looked>, Plan)> {
        let looked = self.look()?;
        let plan = plan::make(spec, &facts(&looked), Some(&self.arguments.members.output))?;
        let ward = Ward {
            looked: &looked,
            earlier: Some(first),
            clocks: &self.fleet.clocks(),
            spec,
        };
        self.up.findings = ward.seen(Some(&plan));
        let found = findings(&self.up.findings, output::palette(self.colour));
        if !found.is_empty() {
            self.say(&format!("{found}\n"))?;
        }
        let stopping = self.up.findings.iter().filter(|seen| seen.stops()).count();
        let says = match stopping {
            0 => "no fault that the plan does not mend".to_owned(),
            1 => "1 fault that the plan does not mend".to_owned(),
            faults => format!("{faults} faults that the plan does not mend"),
        };
        if stopping > 0 && !self.arguments.force {
            return Err(Halt::Stop {
                why: says,
                code: exit::faults(),
            });
        }
        Ok(((looked, plan), says))
    }

    fn plan(&mut self, plan: &Plan) -> Ended<()> {
        apply::show(plan, self.arguments.json, self.colour)?;
        if plan.is_refused() {
            return Err(Halt::Stop {
                why: "the plan is refused".to_owned(),
                code: exit::faults(),
            });
        }
        apply::approve(plan, self.arguments.guard, self.arguments.yes)?;
        let working = plan.nodes.iter().filter(|node| !node.steps.is_empty());
        let says = match working.count() {
            0 => "nothing to do".to_owned(),
            1 => "1 node changes".to_owned(),
            nodes => format!("{nodes} nodes change"),
        };
        Ok(((), says))
    }

    fn apply(&mut self, plan: &Plan, spec: &Spec, looked: &[Looked]) -> Ended<()> {
        let means = Means {
            run: &self.id,
            spec,
            fleet: &self.fleet,
            looked,
            root: &self.arguments.root,
            guard: self.arguments.guard,
            force: self.arguments.force,
            canary: None,
            colour: self.colour,
        };
        let changes = apply::change(plan, &means)?;
        let code = apply::status_of(&changes, false);
        let bad = changes.nodes.iter();
        let bad = bad.filter(|change| !change.outcome.is_fine());
        self.failing = bad.map(|change| change.node.clone()).collect();
        let cause = |outcome| {
            !matches!(
                outcome,
                Outcome::NotBegun | Outcome::Unchanged | Outcome::Confirmed
            )
        };
        let first = changes.nodes.iter().find(|change| cause(change.outcome));
        let first = first.map(|change| &change.node).or(self.failing.first());
        let why = first.map(|node| format!("{node} did not come through"));
        for change in &changes.nodes {
            let notes = change.notes.iter();
            let notes = notes.map(|note| format!("{}: {note}", change.node));
            self.up.notes.extend(notes);
        }
        let undo = self.arguments.undo(&self.id);
        self.up.half_configured = changes.half_configured(&self.arguments.again(), &undo);
        self.up.run = changes.run;
        self.up.changes = changes.nodes;
        match why {
            None => Ok(((), "every node is as planned".to_owned())),
            Some(why) => Err(Halt::Stop { why, code }),
        }
    }

    /// The proof, and a last look: what is left is what is read, not what was foreseen. The plan of that look has the
    /// settings that hold now.
    fn proof(&mut self, plan: &Plan, spec: &Spec, looked: &[Looked]) -> Ended<Plan> {
        let proof = prove(&self.fleet, plan, &facts(looked));
        let palette = output::palette(self.colour);
        self.say(&format!("{}\n", proof::view(&proof, palette)))?;
        let holds = proof.holds() && !proof.pairs.is_empty();
        let verdict = proof::verdict(&proof).text().to_owned();
        let says = format!("{} directions answered", proof.pairs.len());
        self.up.proof = Some(proof);
        let after = self.look()?;
        let ward = Ward {
            looked: &after,
            earlier: None,
            clocks: &self.fleet.clocks(),
            spec,
        };
        self.up.left = ward.seen(None);
        if !holds {
            return Err(Halt::Stop {
                why: verdict,
                code: exit::faults(),
            });
        }
        let again = plan::make(spec, &facts(&after), Some(&self.arguments.members.output))?;
        if again.has_work() {
            let note = "there is more to do now: run crosstie up again";
            self.up.notes.push(note.to_owned());
        }
        Ok((again, says))
    }

    /// Nodes that trust each other find each other on the fabric too, now that it is proven. Nobody is asked, and a failure
    /// costs nobody the work.
    fn refresh_trust(&mut self) {
        let ways = self.ways();
        let notes = ways.and_then(|ways| trust::refresh(&self.fleet.names(), &ways));
        match notes {
            Ok(notes) => self.up.notes.extend(notes),
            Err(error) => self
                .up
                .notes
                .push(format!("trust was not renewed: {error:#}")),
        }
    }

    fn ways(&self) -> anyhow::Result<Ways> {
        let reach = self.arguments.root.reach();
        Ok(match &self.arguments.members.lab {
            Some(lab) => lab::cluster(lab)?.reach(&reach).ways,
            None => reach.ways,
        })
    }

    fn env(&mut self, plan: &Plan) -> Ended<()> {
        let folder = self.folder().map(|folder| folder.join("env"));
        if let Some(folder) = &folder {
            record::make(folder)?;
        }
        for node in &plan.nodes {
            let mut environment = Environment {
                node: node.node.clone(),
                file: None,
                settings: node.settings.clone(),
            };
            if let Some(folder) = &folder {
                let name = plan::folder(&node.node)?.display();
                let path = folder.join(format!("{name}.sh"));
                init::write(&path, &script(&node.node, &plan.cluster, &node.settings))?;
                environment.file = Some(path.display().to_string());
            }
            self.up.environments.push(environment);
        }
        let shown = environments(&self.up.environments, output::palette(self.colour));
        self.say(&shown)?;
        let says = match self.up.environments.len() {
            1 => "settings of 1 node".to_owned(),
            nodes => format!("settings of {nodes} nodes"),
        };
        Ok(((), says))
    }
}

fn facts(looked: &[Looked]) -> Vec<Facts> {
    looked.iter().map(|node| node.facts.clone()).collect()
}
