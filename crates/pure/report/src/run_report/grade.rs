//! What a figure is worth, as JSON and pages have it.

use schemars::JsonSchema;
use serde::Serialize;

/// Best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Grade {
    /// It was not tried, since it says nothing here.
    NotApplicable,
    /// There is nothing to judge it by, or it is not meant to be judged.
    NotGraded,
    Healthy,
    Warning,
    Fault,
    /// It was tried, and there is no figure.
    Failed,
}

impl Grade {
    pub const ALL: [Self; 6] = [
        Self::Healthy,
        Self::Warning,
        Self::Fault,
        Self::Failed,
        Self::NotGraded,
        Self::NotApplicable,
    ];

    /// As JSON has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::NotApplicable => "not-applicable",
            Self::NotGraded => "not-graded",
            Self::Healthy => "healthy",
            Self::Warning => "warning",
            Self::Fault => "fault",
            Self::Failed => "failed",
        }
    }

    pub fn words(self) -> &'static str {
        match self {
            Self::NotApplicable => "not applicable",
            Self::NotGraded => "not graded",
            other => other.name(),
        }
    }

    /// For eyes that do not tell the colours apart.
    pub fn sign(self) -> &'static str {
        match self {
            Self::NotApplicable => "–",
            Self::NotGraded => "○",
            Self::Healthy => "✓",
            Self::Warning => "!",
            Self::Fault | Self::Failed => "✗",
        }
    }

    pub fn is_graded(self) -> bool {
        matches!(self, Self::Healthy | Self::Warning | Self::Fault)
    }

    pub fn is_bad(self) -> bool {
        matches!(self, Self::Fault | Self::Failed)
    }
}
