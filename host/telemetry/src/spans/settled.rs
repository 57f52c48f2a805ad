//! The end of a call or a node, from one of the events that have it.

use agent_host_types::{event::Event, id::CallId, output::ToolResultOutput};

/// The end of a call or a node.
pub(super) struct Settled<'a> {
    pub(super) call_id: &'a CallId,
    /// Of an attempt that is repeated, the node.
    pub(super) tool: &'a str,
    pub(super) output: Option<&'a ToolResultOutput>,
    /// The kind of the failure of one that failed without a result.
    pub(super) failure: Option<String>,
    pub(super) wall_us: u64,
    pub(super) peak_memory_bytes: u64,
    pub(super) rule: Option<&'a str>,
    pub(super) path: &'a [CallId],
}

impl<'a> Settled<'a> {
    /// Returns the end that an event has; `None` for one of another kind.
    pub(super) fn of(event: &'a Event) -> Option<Self> {
        let settled = match event {
            Event::CallSettled {
                call_id,
                tool,
                output,
                accounting,
                rule,
                path,
                ..
            } => Settled {
                call_id,
                tool,
                output: Some(output),
                failure: None,
                wall_us: accounting.wall_us,
                peak_memory_bytes: accounting.peak_memory_bytes,
                rule: rule.as_deref(),
                path,
            },
            Event::NodeSettled {
                call_id,
                tool,
                output,
                accounting,
                rule,
                ..
            } => Settled {
                call_id,
                tool,
                output: output.output.as_ref(),
                failure: output.error.as_ref().map(|error| error.code.clone()),
                wall_us: accounting.wall_us,
                peak_memory_bytes: accounting.peak_memory_bytes,
                rule: rule.as_deref(),
                path: &[],
            },
            Event::NodeRetried {
                call_id,
                node,
                failure,
                accounting,
                ..
            } => Settled {
                call_id,
                tool: node,
                output: None,
                failure: Some(failure.code.clone()),
                wall_us: accounting.wall_us,
                peak_memory_bytes: accounting.peak_memory_bytes,
                rule: None,
                path: &[],
            },
            _ => return None,
        };
        Some(settled)
    }
}
