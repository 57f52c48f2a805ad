//! The host's report of a call that ended abnormally: a code of a closed set and a short text.

#[cfg(test)]
mod tests;

use crate::{json::JsonText, output::ToolResultOutput, tool::Effect, words};
use serde::Deserialize;

/// The longest text of a failure, in bytes. It enters the model's context; this is the only place
/// that bounds it.
pub const MAX_MESSAGE_BYTES: usize = 2 * 1024;

words! {
    /// The reason for an abnormal end of a call. The kebab-case names are part of the contract with
    /// models and clients.
    #[derive(strum::Display)]
    pub enum ToolErrorCode {
        /// The arguments are not a JSON object or do not fit the tool's schema. The tool did not run.
        InvalidInput,
        /// The tool does not exist.
        UnknownTool,
        /// The call did not end before its deadline.
        Timeout,
        /// The call needed more memory than its limit.
        OutOfMemory,
        /// The call exceeded its stack.
        StackOverflow,
        /// The tool crashed.
        Trap,
        /// The call exceeded another limit, which the message names.
        ResourceLimit,
        /// The result is larger than its limit.
        OutputTooLarge,
        /// The result is invalid: malformed JSON, or bytes that contradict their media type.
        InvalidOutput,
        /// The call was cancelled.
        Cancelled,
        /// The host died during the call. Whether the call took effect is unknown, and it was not
        /// repeated.
        InterruptedUnknown,
        /// Too many calls are running; this one was not started.
        Busy,
        /// The tool cannot run at present, for instance because its server is down.
        ToolUnavailable,
        /// The tool differs from the one that the operator accepted.
        ChangedSinceApproval,
        /// An agent used up its budget before it had its result.
        AgentBudget,
        /// An agent ended without a result.
        AgentFailed,
    }
}

/// An abnormal end of a call. As a result it is `error-json {"code", "message"}`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct ToolFailure {
    /// The reason.
    pub code: ToolErrorCode,
    /// Tells the model what happened, why, and what to do, in at most [`MAX_MESSAGE_BYTES`].
    message: String,
}

impl ToolFailure {
    /// Creates a failure; the message is cut to [`MAX_MESSAGE_BYTES`].
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

    /// Creates an `invalid-output` failure.
    #[must_use]
    pub fn invalid_output(message: impl Into<String>) -> Self {
        Self::new(ToolErrorCode::InvalidOutput, message)
    }

    /// Creates the failure of a call that was cancelled while it ran.
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

    /// Creates the failure of a call that was cancelled before it ran.
    #[must_use]
    pub fn not_started() -> Self {
        Self::new(
            ToolErrorCode::Cancelled,
            "The run was stopped before this call began.",
        )
    }

    /// Returns the text for the model.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

/// The code and the message in an `error-json` of the host or of a tool, perhaps beside others.
#[derive(Debug, Deserialize)]
pub struct FailureFields {
    /// The code, also one that is not a [`ToolErrorCode`].
    pub code: String,
    /// The text.
    pub message: String,
}

impl FailureFields {
    /// Returns the fields of an object that has both.
    #[must_use]
    pub fn from_json(json: &JsonText) -> Option<Self> {
        // A structure is also read from an array.
        json.is_object()
            .then(|| serde_json::from_str(json.as_str()).ok())?
    }
}

impl From<ToolFailure> for ToolResultOutput {
    fn from(failure: ToolFailure) -> Self {
        Self::error_json(
            serde_json::json!({ "code": failure.code.as_str(), "message": failure.message }),
        )
    }
}
