//! What a person is asked before anything is changed.

use std::{error::Error, time::Instant};

use crosstie_model::ClusterPlan;
use crosstie_reach::secret::{AskPassword, PasswordError, PasswordPurpose, SecretBytes};

use crate::{
    NoObserver,
    apply::{ApplyError, RollbackError},
};

/// A question that is answered with yes or no.
#[derive(Debug, Clone, Copy)]
pub struct ConsentQuestion<'a> {
    /// What there is to know first.
    pub text: &'a str,
    /// A few words.
    pub ask: &'a str,
    /// Whoever hesitates may look at what it would change in files.
    pub plan: Option<&'a ClusterPlan>,
    /// No answer by then is no, and the time left is shown.
    pub until: Option<Instant>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConsentAnswer {
    Yes,
    No,
    /// The input ended first.
    EndOfInput,
    /// Nobody answered in time.
    Silence,
}

/// Asks whoever sits there. Of passwords, too.
pub trait Prompter: AskPassword {
    /// Whether there is anybody to ask.
    fn is_present(&self) -> bool;

    /// Whether what they were to see before they are asked has reached them, or wherever it was to go.
    fn output_arrived(&self) -> bool;

    fn ask(&self, question: &ConsentQuestion) -> ConsentAnswer;
}

impl AskPassword for NoObserver {
    fn ask_password(&self, purpose: &PasswordPurpose) -> Result<SecretBytes, PasswordError> {
        Err(PasswordError::Nobody(purpose.clone()))
    }
}

impl Prompter for NoObserver {
    fn is_present(&self) -> bool {
        false
    }

    fn output_arrived(&self) -> bool {
        true
    }

    fn ask(&self, _: &ConsentQuestion) -> ConsentAnswer {
        ConsentAnswer::EndOfInput
    }
}

/// Whether a person wants what is about to be done.
pub struct Consent<'a> {
    /// It was given beforehand.
    pub yes: bool,
    pub prompter: &'a dyn Prompter,
}

#[derive(Debug, thiserror::Error)]
pub enum ConsentError {
    #[error("there is no terminal to ask on: pass --yes to {what} without a question")]
    Unattended { what: &'static str },
    #[error("nothing was changed")]
    Declined,
    #[error(
        "nothing was changed: the input ended before an answer; pass --yes to {what} without a question"
    )]
    EndOfInput { what: &'static str },
    #[error("nothing was changed: nobody answered in time")]
    Silence,
    #[error("nothing was changed: what would be changed could not be printed")]
    Unseen,
}

impl ConsentError {
    /// Somebody was asked, and did not say yes.
    pub fn is_no(&self) -> bool {
        matches!(
            self,
            Self::Declined | Self::EndOfInput { .. } | Self::Silence
        )
    }
}

/// Whether it is no error of ours, but a person who does not want it.
pub fn is_declined_error(error: &(dyn Error + 'static)) -> bool {
    let applied = error.downcast_ref().map(|error| match error {
        ApplyError::Consent(error) => error.is_no(),
        _ => false,
    });
    let rolled_back = error.downcast_ref().map(|error| match error {
        RollbackError::Consent(error) => error.is_no(),
        _ => false,
    });
    applied.or(rolled_back).unwrap_or(false)
}

impl Consent<'_> {
    /// Whoever cannot be asked has to say so beforehand.
    pub fn is_possible(&self, what: &'static str) -> Result<(), ConsentError> {
        if self.yes || self.prompter.is_present() {
            return Ok(());
        }
        Err(ConsentError::Unattended { what })
    }

    /// `what` is done without a question where `--yes` is passed.
    pub fn ask(&self, question: &ConsentQuestion, what: &'static str) -> Result<(), ConsentError> {
        if !self.prompter.output_arrived() {
            return Err(ConsentError::Unseen);
        }
        if self.yes {
            return Ok(());
        }
        match self.prompter.ask(question) {
            ConsentAnswer::Yes => Ok(()),
            ConsentAnswer::No => Err(ConsentError::Declined),
            ConsentAnswer::EndOfInput => Err(ConsentError::EndOfInput { what }),
            ConsentAnswer::Silence => Err(ConsentError::Silence),
        }
    }
}
