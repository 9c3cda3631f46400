//! One run: what it knows, and the frame around each of its stages.

use std::{fs::File, path::PathBuf, time::Instant};

use crosstie_report::{
    cluster_file::ExistingClusterFile,
    suggested_command::CommandVerb,
    up::{FailedStage, StageTime, UpReport, UpStage},
};

use super::{UpError, UpHalt, UpOptions, record::UpRecord};
use crate::{Consent, ControlEvent, Fleet, apply::new_run_id, chain_of, state::cluster_folder};

/// What whoever presses Ctrl-C is told, as long as that is so.
const UNCHANGED_MESSAGE: &str = "crosstie: interrupted; no node was changed";

pub(super) struct UpRunner<'a> {
    pub(super) options: &'a UpOptions,
    pub(super) consent: &'a Consent<'a>,
    pub(super) existing: Option<ExistingClusterFile>,
    pub(super) fleet: Fleet,
    pub(super) up: UpReport,
    /// Nodes that ended it, where it was one in particular.
    pub(super) failing: Vec<String>,
    record: Option<(PathBuf, UpRecord)>,
    /// Nobody else runs `up` for the cluster.
    lock: Option<File>,
    pub(super) before: Option<InterruptedUp>,
    /// The run before, of which something may be open.
    pub(super) unsettled: Option<String>,
    is_settled: bool,
    /// What the changes of all nodes share.
    pub(super) id: String,
}

/// What is known of an earlier run that nobody finished.
pub(super) struct InterruptedUp {
    pub(super) stage: UpStage,
    pub(super) since: String,
}

/// A stage's result and its outcome in a few words.
pub(super) type StageResult<T> = Result<(T, String), UpHalt>;

impl<'a> UpRunner<'a> {
    pub(super) fn new(
        options: &'a UpOptions,
        consent: &'a Consent,
        existing: Option<ExistingClusterFile>,
        fleet: Fleet,
    ) -> Result<Self, UpError> {
        fleet.options().last_words(UNCHANGED_MESSAGE);
        let mut run = Self {
            options,
            consent,
            up: UpReport::new(&options.file.display().to_string()),
            fleet,
            failing: Vec::new(),
            record: None,
            lock: None,
            before: None,
            unsettled: None,
            is_settled: false,
            id: new_run_id()?,
            existing: None,
        };
        run.tell(ControlEvent::UpBegan {
            nodes: &run.fleet.names(),
        });
        if let Some(existing) = existing {
            run.open_record(&existing.spec.name)?;
            run.existing = Some(existing);
        }
        Ok(run)
    }

    pub(super) fn tell(&self, event: ControlEvent<'_>) {
        self.fleet.options().observer.observe(event);
    }

    /// From now on it is written down what was done for this cluster.
    pub(super) fn open_record(&mut self, cluster: &str) -> Result<(), UpError> {
        if self.up.cluster.as_deref() == Some(cluster) {
            return Ok(());
        }
        let folder = cluster_folder(cluster)?;
        self.lock = Some(UpRecord::lock(&folder)?);
        let before = UpRecord::load(&folder);
        self.before = before.as_ref().and_then(|before| {
            let (stage, since) = before.cut_short()?;
            Some(InterruptedUp {
                stage,
                since: since.to_owned(),
            })
        });
        let (file, names) = (&self.options.file, self.fleet.names());
        let mut record = UpRecord::new(cluster, file, &names, &self.id);
        if let Some(before) = before.filter(|_| !self.is_settled) {
            record = record.after(&before);
            self.unsettled = before.run;
        }
        self.record = Some((folder, record));
        self.up.cluster = Some(cluster.to_owned());
        Ok(())
    }

    /// No node has an open change any more.
    pub(super) fn all_settled(&mut self) {
        self.is_settled = true;
        if let Some((_, record)) = &mut self.record {
            record.settled(&self.id);
        }
    }

    /// Where the cluster's things are kept.
    pub(super) fn folder(&self) -> Option<&PathBuf> {
        self.record.as_ref().map(|(folder, _)| folder)
    }

    /// One stage, timed, told and written down.
    pub(super) fn stage<T>(
        &mut self,
        stage: UpStage,
        work: impl FnOnce(&mut Self) -> StageResult<T>,
    ) -> Result<T, UpHalt> {
        let began = Instant::now();
        self.tell(ControlEvent::StageBegan(stage));
        self.note(|record, now| record.begin(stage, now));
        let ended = work(self);
        let summary = match &ended {
            Ok((_, summary)) => summary.clone(),
            Err(UpHalt::Stop { why, .. }) => why.clone(),
            // Its causes are told beside it.
            Err(UpHalt::Error(error)) => error.to_string(),
        };
        let took = began.elapsed();
        self.note(|record, now| record.end(now, &summary));
        self.tell(ControlEvent::StageEnded {
            stage,
            took,
            summary: &summary,
            went_well: ended.is_ok(),
            failing: &self.failing,
        });
        self.up.stages.push(StageTime {
            stage,
            // Milliseconds are plenty.
            seconds: (took.as_secs_f64() * 1000.0).round() / 1000.0,
            summary: summary.clone(),
        });
        if ended.is_err() {
            self.up.stopped.get_or_insert(FailedStage {
                stage,
                why: summary,
            });
        }
        if matches!(stage, UpStage::Measure) || (ended.is_ok() && stage == UpStage::Apply) {
            let options = self.fleet.options();
            let up = options.offer.command(CommandVerb::Up);
            options.last_words(&format!(
                "crosstie: interrupted; every node is confirmed, and this goes on from here: {up}"
            ));
        }
        ended.map(|(result, _)| result)
    }

    /// A record that cannot be written costs nobody the work.
    fn note(&mut self, change: impl FnOnce(&mut UpRecord, String)) {
        let Some((folder, record)) = &mut self.record else {
            return;
        };
        change(record, crosstie_node::now());
        if let Err(error) = record.save(folder) {
            let error = chain_of(&error);
            let note = format!("what was done is not written down: {error}");
            self.up.notes.push(note);
            self.record = None;
        }
    }
}
