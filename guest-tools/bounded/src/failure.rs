//! A failed call, as text for the model: what failed, why, and what to do next.

use std::fmt;
use std::io::Error;

use agent_tool::workspace::{PathError, explain};

/// A failed call.
#[derive(Debug, PartialEq, Eq)]
pub struct Failure(String);

impl Failure {
    /// Makes a failure of a sentence for the model.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Explains the system's error for `path` (as the model wrote it), which could not be `done`
    /// (as in "read").
    #[must_use]
    pub fn io(error: &Error, done: &str, path: &str) -> Self {
        Self(explain(error, done, path))
    }
}

impl From<PathError> for Failure {
    fn from(error: PathError) -> Self {
        Self(error.to_string())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
