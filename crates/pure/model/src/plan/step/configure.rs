use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    ConfigReload, FileChange, InterfaceChange, PlanStep, RuntimeRollback, StaleStep, StepKind,
    SummaryGroup, WantedAndFound,
};
use crate::Facts;

/// Files, and those who must read them again. The files are all changed first, in either direction.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Configure {
    pub files: Vec<FileChange>,
    pub then: Vec<ConfigReload>,
}

impl Configure {
    fn changes(&self) -> impl Iterator<Item = &InterfaceChange> {
        self.then.iter().filter_map(ConfigReload::interface)
    }
}

impl StepKind for Configure {
    fn label(&self) -> String {
        match self.interfaces().as_slice() {
            [] => {
                let files: Vec<&str> = self.files.iter().map(FileChange::path).collect();
                format!("writing {}", files.join(", "))
            }
            names => format!("configuring {}", names.join(", ")),
        }
    }

    fn words(&self) -> Vec<String> {
        let renamed = self.files.iter().filter_map(FileChange::words);
        renamed
            .chain(self.then.iter().map(ConfigReload::words))
            .collect()
    }

    fn shown_as(&self) -> SummaryGroup {
        SummaryGroup::Configuration
    }

    fn interfaces(&self) -> Vec<&str> {
        self.changes().map(|change| change.name.as_str()).collect()
    }

    fn disrupts(&self) -> bool {
        self.changes().next().is_some()
    }

    fn files(&self) -> &[FileChange] {
        &self.files
    }

    fn rereads(&self) -> &[ConfigReload] {
        &self.then
    }

    fn undo(&self) -> Self {
        Self {
            files: self.files.iter().rev().map(FileChange::undo).collect(),
            then: self.then.iter().rev().map(ConfigReload::undo).collect(),
        }
    }

    fn rollback(&self) -> RuntimeRollback {
        RuntimeRollback::Files
    }

    fn is_done(&self, now: &Facts) -> bool {
        self.files.iter().all(|file| file.is_done(now))
            && self.then.iter().all(|reread| reread.is_done(now))
    }

    fn foresee(&self, _facts: &mut Facts) -> Result<(), StaleStep> {
        Ok(())
    }

    fn parts(&self) -> Vec<PlanStep> {
        let files = self.files.iter().map(|file| Self {
            files: vec![file.clone()],
            then: Vec::new(),
        });
        let interfaces = self.then.iter().filter(|then| then.interface().is_some());
        let interfaces = interfaces.map(|then| Self {
            files: Vec::new(),
            then: vec![then.clone()],
        });
        files.chain(interfaces).map(PlanStep::from).collect()
    }

    fn subject(&self) -> String {
        match (self.files.first(), self.changes().next()) {
            (Some(file), _) => file.path().to_owned(),
            (None, Some(change)) => change.name.clone(),
            (None, None) => "units".to_owned(),
        }
    }

    fn compare(&self, now: &Facts) -> WantedAndFound {
        match (self.files.first(), self.changes().next()) {
            (Some(file), _) => file.compare(now),
            (None, Some(change)) => change.compare(now),
            (None, None) => WantedAndFound {
                wanted: String::new(),
                found: String::new(),
            },
        }
    }
}
