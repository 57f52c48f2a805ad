//! How the host reports a call that ended abnormally: a closed set of codes and one short text.

#[cfg(test)]
mod tests;

use crate::{output::ToolResultOutput, tool::Effect};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The longest text of a failure, in bytes. It enters the model's context, so it is bounded here and nowhere else.
pub const MAX_MESSAGE_BYTES: usize = 2 * 1024;

/// Why a call ended abnormally. The kebab-case names are part of the contract with models and clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolErrorCode {
    /// The arguments are not a JSON object or do not fit the tool's schema. The tool did not run.
    InvalidInput,
    /// There is no tool of this name.
    UnknownTool,
    /// The call did not end before its deadline.
    Timeout,
    /// The call wanted more memory than its limit.
    OutOfMemory,
    /// The call recursed too deep.
    StackOverflow,
    /// The tool crashed.
    Trap,
    /// The call ran into another limit; the message names it.
    ResourceLimit,
    /// The result is larger than its limit.
    OutputTooLarge,
    /// The result is not valid: malformed JSON, or bytes that disagree with their media type.
    InvalidOutput,
    /// The call was stopped from outside.
    Cancelled,
    /// The host died while the call ran; whether it took effect is not known, and it was not repeated.
    InterruptedUnknown,
    /// Too many calls are running; nothing was started.
    Busy,
    /// The tool cannot be run at present, such as when its server is gone.
    ToolUnavailable,
    /// The tool is not the one that the operator accepted.
    ChangedSinceApproval,
}

impl ToolErrorCode {
    /// Every code, for tables and tests.
    pub const ALL: [Self; 14] = [
        Self::InvalidInput,
        Self::UnknownTool,
        Self::Timeout,
        Self::OutOfMemory,
        Self::StackOverflow,
        Self::Trap,
        Self::ResourceLimit,
        Self::OutputTooLarge,
        Self::InvalidOutput,
        Self::Cancelled,
        Self::InterruptedUnknown,
        Self::Busy,
        Self::ToolUnavailable,
        Self::ChangedSinceApproval,
    ];

    /// The kebab-case name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidInput => "invalid-input",
            Self::UnknownTool => "unknown-tool",
            Self::Timeout => "timeout",
            Self::OutOfMemory => "out-of-memory",
            Self::StackOverflow => "stack-overflow",
            Self::Trap => "trap",
            Self::ResourceLimit => "resource-limit",
            Self::OutputTooLarge => "output-too-large",
            Self::InvalidOutput => "invalid-output",
            Self::Cancelled => "cancelled",
            Self::InterruptedUnknown => "interrupted-unknown",
            Self::Busy => "busy",
            Self::ToolUnavailable => "tool-unavailable",
            Self::ChangedSinceApproval => "changed-since-approval",
        }
    }
}

impl fmt::Display for ToolErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An abnormal end of a call. As a result it is `error-json {"code", "message"}`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct ToolFailure {
    /// What happened.
    pub code: ToolErrorCode,
    /// What happened, why, and what to do, for the model; at most [`MAX_MESSAGE_BYTES`].
    message: String,
}

impl ToolFailure {
    /// Makes a failure; the message is cut to its bound.
    #[must_use]
    pub fn new(code: ToolErrorCode, message: impl Into<String>) -> Self {
        let mut message = message.into();
        if message.len() > MAX_MESSAGE_BYTES {
            const MARK: &str = " [cut]";
            message.truncate(message.floor_char_boundary(MAX_MESSAGE_BYTES - MARK.len()));
            message.push_str(MARK);
        }
        Self { code, message }
    }

    /// A failure of the result's form.
    #[must_use]
    pub fn invalid_output(message: impl Into<String>) -> Self {
        Self::new(ToolErrorCode::InvalidOutput, message)
    }

    /// The failure of a call that was stopped while it ran.
    #[must_use]
    pub fn stopped(effect: Effect) -> Self {
        let message = match effect {
            Effect::ReadOnly => "The call was stopped before it ended.",
            Effect::Idempotent | Effect::Effectful => {
                "The call was stopped before it ended. Whether it took effect is not known."
            }
        };
        Self::new(ToolErrorCode::Cancelled, message)
    }

    /// The failure of a call that was stopped before it ran.
    #[must_use]
    pub fn not_started() -> Self {
        Self::new(
            ToolErrorCode::Cancelled,
            "The run was stopped before this call began.",
        )
    }

    /// The text.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl From<ToolFailure> for ToolResultOutput {
    fn from(failure: ToolFailure) -> Self {
        Self::ErrorJson(
            serde_json::json!({ "code": failure.code.as_str(), "message": failure.message }),
        )
    }
}
