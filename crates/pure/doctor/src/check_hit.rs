//! One firing of a check.

use std::fmt::{Display, Write};

use crosstie_model::{Evidence, Finding, Severity};

use crate::{Check, FindingSite};

/// What a check found, before it is joined with the check's own texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckHit {
    severity: Severity,
    subject: String,
    evidence: Vec<Evidence>,
    /// Where this case has a better-known cause than the check in general.
    cause: Option<String>,
    advice: Option<String>,
    commands: Vec<String>,
    sites: Vec<FindingSite>,
    felt_elsewhere: bool,
}

impl CheckHit {
    pub fn new(severity: Severity, subject: impl Display) -> Self {
        Self {
            severity,
            subject: subject.to_string(),
            evidence: Vec::new(),
            cause: None,
            advice: None,
            commands: Vec::new(),
            sites: Vec::new(),
            felt_elsewhere: false,
        }
    }

    pub fn fault(subject: impl Display) -> Self {
        Self::new(Severity::Fault, subject)
    }

    pub fn warning(subject: impl Display) -> Self {
        Self::new(Severity::Warning, subject)
    }

    pub fn info(subject: impl Display) -> Self {
        Self::new(Severity::Info, subject)
    }

    /// What was read, its value, and where.
    #[must_use]
    pub fn saw(
        mut self,
        what: impl Display,
        value: impl Display,
        source: impl Into<String>,
    ) -> Self {
        self.evidence.push(Evidence {
            what: what.to_string(),
            value: value.to_string(),
            source: source.into(),
        });
        self
    }

    #[must_use]
    pub fn cause(mut self, cause: impl Into<String>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    /// What to do in this case, in words; the check's own text when left out.
    #[must_use]
    pub fn advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = Some(advice.into());
        self
    }

    /// A command to paste on the node. Names of devices and files go through [`crate::word`].
    #[must_use]
    pub fn command(mut self, command: impl Into<String>) -> Self {
        self.commands.push(command.into());
        self
    }

    /// Where it is, for a subject that does not tell: left out, the subject's words are looked up among the names of the
    /// node's ports, devices and cages, and among those of nodes.
    #[must_use]
    pub fn at(mut self, site: FindingSite) -> Self {
        self.sites.push(site);
        self
    }

    /// It has to be mended here, and what it does shows elsewhere under the same id.
    #[must_use]
    pub fn felt_elsewhere(mut self) -> Self {
        self.felt_elsewhere = true;
        self
    }

    pub(crate) fn is_shown_elsewhere(&self) -> bool {
        self.felt_elsewhere
    }

    pub(crate) fn sites(&self) -> &[FindingSite] {
        &self.sites
    }

    pub(crate) fn subject(&self) -> &str {
        &self.subject
    }

    pub fn finding(self, check: &Check) -> Finding {
        let mut fix = self.advice.unwrap_or_else(|| check.fix.to_owned());
        for command in &self.commands {
            // Writing to a String cannot fail.
            let _ = write!(fix, "\n{command}");
        }
        Finding {
            id: check.id.to_owned(),
            severity: self.severity,
            subject: self.subject,
            evidence: self.evidence,
            cause: self.cause.unwrap_or_else(|| check.cause.to_owned()),
            fix,
            commands: self.commands,
            caused_by: None,
        }
    }
}
