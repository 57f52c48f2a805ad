//! One request of a call to the gate, as a line.

use super::{DIM, GREEN, YELLOW, escape_line};
use agent_host_types::accounting::{AuditEntry, AuditVerdict};

/// What was asked, what the gate said, how often, and by which rule.
pub(crate) fn audit_line(entry: &AuditEntry) -> String {
    let (style, word) = match entry.verdict {
        AuditVerdict::Allowed => (GREEN, "allowed"),
        AuditVerdict::Denied => (YELLOW, "denied"),
    };
    let times = if entry.count == 1 {
        String::new()
    } else {
        format!(" ×{}", entry.count)
    };
    format!(
        "{style}{word}{style:#} {}{times} {DIM}by {}{DIM:#}",
        escape_line(&entry.request),
        escape_line(&entry.rule)
    )
}
