//! Whether a person wants what is about to be done.

use crate::Prompter;

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
}

impl Consent<'_> {
    /// Whoever cannot be asked has to say so beforehand.
    pub fn is_possible(&self, what: &'static str) -> Result<(), ConsentError> {
        if self.yes || self.prompter.is_present() {
            return Ok(());
        }
        Err(ConsentError::Unattended { what })
    }

    pub fn ask(&self, question: &str) -> Result<(), ConsentError> {
        if self.yes || self.prompter.approve(question) {
            return Ok(());
        }
        Err(ConsentError::Declined)
    }
}
