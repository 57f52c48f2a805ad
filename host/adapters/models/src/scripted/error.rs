//! Errors of scripts.

use super::{BUILTIN, script::MAX_SCRIPT_BYTES};
use agent_host_types::model::{ModelError, ModelErrorKind};
use std::fmt;

/// Why a script cannot be parsed or played.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// No built-in script has this name.
    #[error("No built-in script `{}`. Available: {}.", .0.escape_debug(), builtin_names())]
    UnknownBuiltin(String),
    /// The script is invalid.
    #[error("Cannot read the script `{}`: {reason}.", .script.escape_debug())]
    Invalid {
        /// The script's name.
        script: String,
        /// The fault.
        #[source]
        reason: InvalidScript,
    },
    /// A template or an expression is invalid or cannot be evaluated.
    #[error(
        "The script `{}` failed in {location}: {reason}. Correct the script and run it again.",
        .script.escape_debug()
    )]
    Template {
        /// The script's name.
        script: String,
        /// The turn, the call and the field.
        location: String,
        /// The error.
        #[source]
        reason: TemplateError,
    },
    /// Every turn was played.
    #[error(
        "The script `{script}` has ended: all of its {turns} turns are used. Its last turn should have text and no calls; start a new session to play it again."
    )]
    Ended {
        /// The script's name.
        script: String,
        /// How many turns it has.
        turns: usize,
    },
}

/// A fault of a script file.
#[derive(Debug, thiserror::Error)]
pub enum InvalidScript {
    /// It is too long.
    #[error("it is longer than {MAX_SCRIPT_BYTES} bytes")]
    TooLong,
    /// It is not valid TOML, or has unknown or missing fields.
    #[error("{}{}", line_prefix(*line), .error.message().trim_end())]
    Toml {
        /// The line, from 1, if it is known.
        line: Option<usize>,
        /// The parser's error.
        #[source]
        error: Box<toml::de::Error>,
    },
    /// It has no turns.
    #[error("it has no turns; write at least one `[[turn]]`")]
    NoTurns,
    /// A turn has neither text nor calls; turns count from 1.
    #[error("turn {0} is empty; give it a `text` or a `[[turn.call]]`")]
    EmptyTurn(usize),
    /// A `[[let]]` has the name of a built-in value.
    #[error("`{0}` is a built-in name; choose another one for this `[[let]]`")]
    ReservedName(String),
}

/// A fault of a template or an expression.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// An error of the template engine, with its causes and its line.
    #[error("{}", Causes(.0))]
    Engine(#[source] minijinja::Error),
    /// An expression has no value.
    #[error("the value is undefined; test it with `is defined`, or set a default with `default()`")]
    Undefined,
    /// A template of a call's input rendered to a JSON value that is not an object.
    #[error("it rendered to JSON that is not an object")]
    NotAnObject,
    /// A template of a call's input did not render to JSON.
    #[error(
        "it did not render to JSON ({0}); inserted values include their own quotes, so write {{\"path\": {{{{ name \
         }}}}}}"
    )]
    NotJson(#[source] serde_json::Error),
}

impl From<ScriptError> for ModelError {
    fn from(error: ScriptError) -> Self {
        Self::new(ModelErrorKind::Script, error.to_string())
    }
}

fn builtin_names() -> String {
    BUILTIN.map(|(name, _)| format!("`{name}`")).join(", ")
}

fn line_prefix(line: Option<usize>) -> String {
    line.map_or_else(String::new, |line| format!("line {line}: "))
}

/// An error of the template engine in one line.
struct Causes<'a>(&'a minijinja::Error);

impl fmt::Display for Causes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.0.line() {
            write!(f, "line {line}: ")?;
        }
        write!(f, "{}", self.0.kind())?;
        if let Some(detail) = self.0.detail() {
            write!(f, ": {detail}")?;
        }
        let mut cause = std::error::Error::source(self.0);
        while let Some(inner) = cause {
            write!(f, ": {inner}")?;
            cause = inner.source();
        }
        Ok(())
    }
}
