//! Formats audit entries.

use super::{DIM, GREEN, YELLOW, escape_line};
use agent_host_types::accounting::{AuditEntry, AuditVerdict};

/// Returns a line with the verdict, the request, its count, and the rule.
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
