//! The results of calls that a server did not answer with one, or did not run.

use super::McpServer;
use crate::{
    connection::RequestError,
    lines::{MALFORMED, TOO_LARGE},
};
use agent_host_engine::text;
use agent_host_types::{
    failure::{ToolErrorCode, ToolFailure},
    output::ToolResultOutput,
    workflow::text_of,
};

/// The maximum of bytes shown of a server's reason for a denial.
const DENIAL_BYTES: usize = 500;

/// The maximum of bytes shown of a result that is not taken.
const SAID_BYTES: usize = 4 * 1024;

/// Adds what a result says to the reason for which it is not taken: it may help the model all the
/// same, and the call ran.
pub(super) fn with_texts(failure: ToolFailure, output: &ToolResultOutput) -> ToolFailure {
    let said = match output {
        ToolResultOutput::ExecutionDenied(_) => String::new(),
        _ => text_of(output),
    };
    if said.trim().is_empty() {
        return failure;
    }
    let said = text::sanitize(&said, SAID_BYTES);
    ToolFailure::new(
        failure.code,
        format!("{} The result was:\n{said}", failure.message()),
    )
}

impl McpServer {
    /// Returns the result of a call that the server did not answer with one.
    pub(super) fn refused(&self, error: RequestError) -> Result<ToolResultOutput, ToolFailure> {
        match error {
            RequestError::Protocol(error) if error.code == TOO_LARGE => {
                Err(self.too_large(&error.message))
            }
            RequestError::Protocol(error) if error.code == MALFORMED => {
                let what = format!(
                    "answered, but {}. The call may or may not have taken effect.",
                    error.message
                );
                Err(self.failure(ToolErrorCode::InvalidOutput, &what))
            }
            RequestError::Protocol(error) => Ok(ToolResultOutput::ErrorText(format!(
                "The MCP server `{}` refused the call: {} (code {})",
                self.config.name,
                text::sanitize(&error.message, 2_000),
                error.code.0
            ))),
            RequestError::Unsupported(what) => {
                Err(self.unavailable(&format!("{what}. The call did not run")))
            }
            RequestError::Login(what) => {
                Err(self.unavailable(&format!("{what}. The call did not run")))
            }
            RequestError::Closed(why) => {
                Err(self.unavailable(&format!("{why}. Whether the call took effect is not known")))
            }
        }
    }

    /// Returns the result of a call that the server denied. Its reason is quoted, since this host's
    /// own denials have the same variant.
    pub(super) fn denied(&self, reason: Option<String>) -> ToolResultOutput {
        let reason = match reason {
            Some(reason) => {
                let reason = text::sanitize(&reason, DENIAL_BYTES);
                format!("its reason: \"{}\"", reason.escape_debug())
            }
            None => "it gave no reason".to_owned(),
        };
        ToolResultOutput::ExecutionDenied(Some(format!(
            "The MCP server `{}` says that it denied the call; no rule of this host did; {reason}",
            self.config.name
        )))
    }

    fn unavailable(&self, why: &str) -> ToolFailure {
        let what = format!("is currently unavailable: {why}.");
        self.failure(ToolErrorCode::ToolUnavailable, &what)
    }

    /// Returns the failure of a call of which nothing was sent.
    pub(super) fn not_started(&self, why: &str) -> ToolFailure {
        let what = format!(
            "did not start: {why}. The call was not sent, so it did not run and can be repeated."
        );
        self.failure(ToolErrorCode::ToolUnavailable, &what)
    }

    pub(super) fn too_large(&self, why: &str) -> ToolFailure {
        let what = format!("sent too large an answer: {why}. The call ran; ask for less.");
        self.failure(ToolErrorCode::OutputTooLarge, &what)
    }

    /// Returns a failure whose message says what the server did.
    pub(super) fn failure(&self, code: ToolErrorCode, what: &str) -> ToolFailure {
        let name = &self.config.name;
        ToolFailure::new(code, format!("The MCP server `{name}` {what}"))
    }
}
/// Returns the failure of a call of a tool that is not offered.
pub(super) fn unknown(tool: &str) -> ToolFailure {
    ToolFailure::new(
        ToolErrorCode::UnknownTool,
        format!("There is no tool `{}`.", tool.escape_debug()),
    )
}
