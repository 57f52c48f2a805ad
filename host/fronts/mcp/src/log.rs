//! The stdout and stderr of tools as log messages of the protocol, for the client's user.

#![expect(
    deprecated,
    reason = "later versions of the protocol have no logging; those that clients speak today do"
)]

#[cfg(test)]
mod tests;

use agent_host_engine::text::{escape, escape_line};
use rmcp::{
    RoleServer,
    model::{LoggingLevel, LoggingMessageNotificationParam},
    service::{Peer, ServiceError},
};

/// Lines of one call that are sent, from the first. A note counts the rest.
const MAX_LINES: usize = 100;

/// The level of what concerns the operator.
const WARNING: LoggingLevel = LoggingLevel::Warning;

/// The level of tool output. The host cannot tell its severity.
const LEVEL: LoggingLevel = LoggingLevel::Info;

/// Returns a level as a number from 1 to 8 that grows with severity.
pub(crate) fn number(level: LoggingLevel) -> u8 {
    level as u8 + 1
}

/// Returns true if a client with this minimum level, 0 if unset, gets tool output.
pub(crate) fn wants_output(level: u8) -> bool {
    level <= number(LEVEL)
}

/// Returns true if a client with this minimum level, 0 if unset, gets warnings.
pub(crate) fn wants_warnings(level: u8) -> bool {
    level <= number(WARNING)
}

pub(crate) async fn send_output(peer: &Peer<RoleServer>, tool: &str, stdio: &str) {
    for message in messages(tool, stdio) {
        if peer.notify_logging_message(message).await.is_err() {
            // The client is gone.
            return;
        }
    }
}

/// Returns a message for each line that is not blank.
fn messages(tool: &str, stdio: &str) -> Vec<LoggingMessageNotificationParam> {
    let mut lines = stdio.lines().filter(|line| !line.trim().is_empty());
    let message =
        |data: String| LoggingMessageNotificationParam::new(LEVEL, data.into()).with_logger(tool);
    let shown = lines.by_ref().take(MAX_LINES);
    let mut messages: Vec<_> = shown.map(|line| message(escape_line(line))).collect();
    let more = lines.count();
    if more > 0 {
        messages.push(message(format!(
            "... and {more} more lines, which the session's journal contains"
        )));
    }
    messages
}

/// Sends a message at level warning that belongs to no call.
pub(crate) async fn warn(peer: &Peer<RoleServer>, text: &str) -> Result<(), ServiceError> {
    let message = LoggingMessageNotificationParam::new(WARNING, escape(text).into())
        .with_logger("agent-host");
    peer.notify_logging_message(message).await
}
