//! One run: what it knows, and the frame around each of its stages.

use std::{path::PathBuf, process::ExitCode, time::Instant};

use clap::ColorChoice;
use crosstie_model::word;
use crosstie_reach::set_last_words;
use crosstie_report::{
    change::Outcome,
    cluster_file::Existing,
    up::{Stage, Stopped, Timed, Up, screen},
};

use super::{
    args,
    live::{self, Live},
    record::{Record, folder},
};
use crate::{exit, nodes::Fleet, output};

/// What whoever presses Ctrl-C is told, while that is so.
const UNCHANGED: &str = "crosstie: interrupted; no node was changed";
const CONFIRMED: &str =
    "crosstie: interrupted; every node is confirmed, and crosstie up goes on from here";

pub(super) struct Run<'a> {
    pub(super) arguments: &'a args::Up,
    pub(super) existing: Option<Existing>,
    pub(super) fleet: Fleet,
    pub(super) live: Live,
    pub(super) colour: ColorChoice,
    pub(super) up: Up,
    /// Nodes that ended it, where it was one in particular.
    pub(super) failing: Vec<String>,
    record: Option<(PathBuf, Record)>,
    /// The stage that was cut short the last time, and since when.
    pub(super) before: Option<(Stage, String)>,
    draws: bool,
}

/// Why a run ends before its last stage.
pub(super) enum Halt {
    /// A person can see why.
    Stop {
        why: String,
        code: ExitCode,
    },
    Error(anyhow::Error),
}

impl From<anyhow::Error> for Halt {
    fn from(error: anyhow::Error) -> Self {
        Self::Error(error)
    }
}

/// A stage's result and its outcome in a few words.
pub(super) type Ended<T> = Result<(T, String), Halt>;

impl<'a> Run<'a> {
    pub(super) fn new(
        arguments: &'a args::Up,
        existing: Option<Existing>,
        mut fleet: Fleet,
        colour: ColorChoice,
    ) -> anyhow::Result<Self> {
        set_last_words(UNCHANGED);
        let live = Live::new(&fleet.names(), output::palette(colour));
        fleet.show_by(live.view());
        let mut run = Self {
            arguments,
            fleet,
            live,
            colour,
            up: Up::new(&arguments.members.output.display().to_string()),
            failing: Vec::new(),
            record: None,
            before: None,
            draws: output::draws(colour),
            existing: None,
        };
        if let Some(existing) = existing {
            run.is_called(&existing.spec.name)?;
            run.existing = Some(existing);
        }
        Ok(run)
    }

    /// From now on it is written down what was done for this cluster.
    pub(super) fn is_called(&mut self, cluster: &str) -> anyhow::Result<()> {
        if self.up.cluster.as_deref() == Some(cluster) {
            return Ok(());
        }
        let folder = folder(cluster)?;
        let before = Record::load(&folder);
        let cut_short = before.as_ref().and_then(Record::cut_short);
        self.before = cut_short.map(|(stage, since)| (stage, since.to_owned()));
        let record = Record::new(cluster, &self.arguments.members.output, &self.fleet.names());
        self.record = Some((folder, record));
        self.up.cluster = Some(cluster.to_owned());
        Ok(())
    }

    /// Where the cluster's things are kept.
    pub(super) fn folder(&self) -> Option<&PathBuf> {
        self.record.as_ref().map(|(folder, _)| folder)
    }

    /// One stage, timed, drawn and written down.
    pub(super) fn stage<T>(
        &mut self,
        stage: Stage,
        work: impl FnOnce(&mut Self) -> Ended<T>,
    ) -> Result<T, Halt> {
        let began = Instant::now();
        self.live.begin(stage);
        self.note(|record, now| record.begin(stage, now));
        let ended = work(self);
        let says = match &ended {
            Ok((_, says)) => says.clone(),
            Err(Halt::Stop { why, .. }) => why.clone(),
            // Its causes are told beside it.
            Err(Halt::Error(error)) => error.to_string(),
        };
        let took = began.elapsed();
        self.note(|record, now| record.end(now, &says));
        self.live.end(ended.is_ok(), &self.failing);
        if !self.draws {
            live::line(stage, took, &says);
        }
        self.up.stages.push(Timed {
            stage,
            // Milliseconds are plenty.
            seconds: (took.as_secs_f64() * 1000.0).round() / 1000.0,
            says: says.clone(),
        });
        if ended.is_err() {
            self.up.stopped = Some(Stopped { stage, why: says });
        } else if stage == Stage::Apply {
            set_last_words(CONFIRMED);
        }
        ended.map(|(result, _)| result)
    }

    /// A record that cannot be written costs nobody the work.
    fn note(&mut self, change: impl FnOnce(&mut Record, String)) {
        let Some((folder, record)) = &mut self.record else {
            return;
        };
        change(record, crosstie_node::now());
        if let Err(error) = record.save(folder) {
            tracing::warn!("what was done is not written down: {error:#}");
            self.record = None;
        }
    }

    /// Data, unless JSON is.
    pub(super) fn say(&self, text: &str) -> anyhow::Result<()> {
        if self.arguments.json {
            output::tell(text);
        } else {
            output::print(text)?;
        }
        Ok(())
    }

    /// The last screen, or the JSON.
    pub(super) fn finish(mut self, ended: &Result<(), Halt>) -> anyhow::Result<ExitCode> {
        set_last_words("");
        self.commands();
        if self.draws && ended.is_err() {
            self.live.leave();
        }
        match ended {
            Err(Halt::Error(error)) if error.chain().len() > 1 => output::complain(error),
            _ => {}
        }
        if self.arguments.json {
            output::print(&output::json(&self.up)?)?;
        } else {
            let home = std::env::var("HOME").ok();
            let palette = output::palette(self.colour);
            output::print(&screen(&self.up, home.as_deref(), palette))?;
        }
        Ok(match ended {
            Ok(()) => exit::CLEAN,
            Err(Halt::Stop { code, .. }) => *code,
            Err(Halt::Error(_)) => exit::tool_failed(),
        })
    }

    /// What undoes it, and what comes next.
    fn commands(&mut self) {
        let tail = self.tail();
        let changed = |outcome| outcome == Outcome::Confirmed;
        if self.up.changes.iter().any(|change| changed(change.outcome)) {
            self.up.undo = Some(format!("crosstie rollback{tail}"));
        }
        let stopping = self.up.findings.iter().find(|seen| seen.stops());
        let next = match self.up.stopped.as_ref().map(|stopped| stopped.stage) {
            Some(Stage::Doctor) => stopping.map(|seen| format!("explain {}", seen.finding.id)),
            Some(Stage::Apply) => Some(format!("status{tail}")),
            Some(Stage::Proof) => Some(format!("doctor{tail} --sudo")),
            Some(_) => None,
            None => Some(format!("doctor{tail} --sudo --watch")),
        };
        self.up.next = next.map(|next| format!("crosstie {next}"));
    }

    /// How other commands are told of the same nodes.
    fn tail(&self) -> String {
        let lab = self.arguments.members.lab.as_deref();
        let lab = lab.map(|lab| format!(" --lab {}", word(lab)));
        let file = self.arguments.members.output.display().to_string();
        format!("{} --cluster {}", lab.unwrap_or_default(), word(&file))
    }
}
