//! What a tool wrote to stdout and stderr, as log messages of the protocol. It is for people; the model's client may show it.

#![expect(
    deprecated,
    reason = "later versions of the protocol have no logging; those that clients speak today do"
)]

#[cfg(test)]
mod tests;

use rmcp::{
    RoleServer,
    model::{LoggingLevel, LoggingMessageNotificationParam},
    service::{Peer, ServiceError},
};

/// How many lines of one call are sent, from its first; a note says that there are more.
const MAX_LINES: usize = 100;

/// The level of what the operator should look at.
const WARNING: LoggingLevel = LoggingLevel::Warning;

/// The level of what tools write: the host cannot tell what matters to them.
const LEVEL: LoggingLevel = LoggingLevel::Info;

/// A level as a number: the more severe, the larger; never 0.
pub(crate) fn number(level: LoggingLevel) -> u8 {
    match level {
        LoggingLevel::Debug => 1,
        LoggingLevel::Info => 2,
        LoggingLevel::Notice => 3,
        LoggingLevel::Warning => 4,
        LoggingLevel::Error => 5,
        LoggingLevel::Critical => 6,
        LoggingLevel::Alert => 7,
        LoggingLevel::Emergency => 8,
    }
}

/// Whether a client that wants this level and what is more severe hears of what tools write. 0 stands for one that has not said what
/// it wants.
pub(crate) fn wants(level: u8) -> bool {
    level <= number(LEVEL)
}

/// Whether it hears of what the operator should look at.
pub(crate) fn wants_warnings(level: u8) -> bool {
    level <= number(WARNING)
}

/// Sends what a tool wrote.
pub(crate) async fn pass_on(peer: &Peer<RoleServer>, tool: &str, stdio: &str) {
    for message in messages(tool, stdio) {
        if peer.notify_logging_message(message).await.is_err() {
            // The client is gone.
            return;
        }
    }
}

/// The messages for what a tool wrote, one for each line that is not empty.
fn messages(tool: &str, stdio: &str) -> Vec<LoggingMessageNotificationParam> {
    let mut lines = stdio.lines().filter(|line| !line.trim().is_empty());
    let message =
        |data: String| LoggingMessageNotificationParam::new(LEVEL, data.into()).with_logger(tool);
    let shown = lines.by_ref().take(MAX_LINES);
    let mut messages: Vec<_> = shown.map(|line| message(line.to_owned())).collect();
    let more = lines.count();
    if more > 0 {
        messages.push(message(format!(
            "... and {more} lines more, which the session in the journal has"
        )));
    }
    messages
}

/// Tells a client of something that the operator should look at, and that no call did.
pub(crate) async fn warn(peer: &Peer<RoleServer>, text: &str) -> Result<(), ServiceError> {
    let message =
        LoggingMessageNotificationParam::new(WARNING, text.into()).with_logger("agent-host");
    peer.notify_logging_message(message).await
}
