//! Errors as text.

use std::error::Error;

/// An error and everything below it, on one line: of an error that travels, or is kept in a journal.
pub fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
