//! Calls in events: those of a model, a client or a program, and those of the nodes of a workflow.
//! Readers of calls read these, and so need not know of nodes.

use super::Event;
use crate::{
    accounting::{Accounting, AuditEntry},
    id::CallId,
    output::{BlobRef, ToolResultOutput},
    tool::Effect,
    turn::ChildSummary,
    workflow::NodeFailure,
};
use serde_json::{Map, Value};
use std::sync::Arc;

/// A call that was requested, or is about to run.
#[derive(Clone, Copy, Debug)]
pub struct CallRequest<'a> {
    /// The call.
    pub call_id: &'a CallId,
    /// The tool; for a handler of a workflow, its name.
    pub tool: &'a str,
    /// The arguments; absent for a handler, and where the model's are not a JSON object.
    pub input: Option<&'a Arc<Map<String, Value>>>,
    /// The id of its node.
    pub node: Option<&'a str>,
}

/// A call that is about to run.
#[derive(Clone, Copy, Debug)]
pub struct CallStart<'a> {
    /// The call.
    pub call_id: &'a CallId,
    /// The tool; for a handler of a workflow, its name.
    pub tool: &'a str,
    /// The arguments; absent for a handler.
    pub input: Option<&'a Arc<Map<String, Value>>>,
    /// The effect that the policy applied.
    pub effect: Effect,
    /// The policy rule that allowed it.
    pub rule: Option<&'a str>,
    /// The id of its node.
    pub node: Option<&'a str>,
}

/// A call that ended, or an attempt of it.
#[derive(Clone, Copy, Debug)]
pub struct CallEnd<'a> {
    /// The call.
    pub call_id: &'a CallId,
    /// The tool; absent for an attempt that another one follows, whose start has it.
    pub tool: Option<&'a str>,
    /// The id of its node.
    pub node: Option<&'a str>,
    /// The result; absent where an agent or a handler returned text, and for a failure without one.
    pub output: Option<&'a ToolResultOutput>,
    /// The failure of a node.
    pub failure: Option<&'a NodeFailure>,
    /// The whole result, where `output` is a preview.
    pub whole: Option<&'a BlobRef>,
    /// The figures of the session, for a call of an agent.
    pub child: Option<&'a ChildSummary>,
    /// The resources that it used.
    pub accounting: &'a Accounting,
    /// Its requests to the gate.
    pub audit: &'a [AuditEntry],
    /// The policy rule that denied it.
    pub rule: Option<&'a str>,
    /// The untrusted sources of the result.
    pub labels: &'a [String],
    /// The enclosing calls, outermost first.
    pub path: &'a [CallId],
}

impl CallEnd<'_> {
    /// Whether the call succeeded.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.failure.is_none() && self.output.is_none_or(ToolResultOutput::is_success)
    }

    /// Whether the call was denied.
    #[must_use]
    pub fn is_denied(&self) -> bool {
        matches!(self.output, Some(ToolResultOutput::ExecutionDenied(_)))
    }
}

impl Event {
    /// Returns the calls that a model or a client requests, or the one that is about to run.
    #[must_use]
    pub fn call_requests(&self) -> Vec<CallRequest<'_>> {
        match self {
            Self::ModelReplied { reply, .. } => {
                let calls = reply.tool_calls.iter().map(|call| CallRequest {
                    call_id: &call.id,
                    tool: &call.name,
                    input: call.input.as_ref(),
                    node: None,
                });
                calls.collect()
            }
            Self::CallReceived {
                call_id,
                tool,
                input,
            } => vec![CallRequest {
                call_id,
                tool,
                input: Some(input),
                node: None,
            }],
            started => {
                let start = started.call_start().map(|start| CallRequest {
                    call_id: start.call_id,
                    tool: start.tool,
                    input: start.input,
                    node: start.node,
                });
                start.into_iter().collect()
            }
        }
    }

    /// Returns the call that is about to run; `None` for an event of another kind.
    #[must_use]
    pub fn call_start(&self) -> Option<CallStart<'_>> {
        match self {
            Self::CallIntended {
                call_id,
                tool,
                input,
                effect,
                rule,
                ..
            } => Some(CallStart {
                call_id,
                tool,
                input: Some(input),
                effect: *effect,
                rule: rule.as_deref(),
                node: None,
            }),
            Self::NodeIntended {
                call_id,
                node,
                tool,
                input,
                effect,
                rule,
                ..
            } => Some(CallStart {
                call_id,
                tool,
                input: input.as_ref(),
                effect: *effect,
                rule: rule.as_deref(),
                node: Some(node),
            }),
            _ => None,
        }
    }

    /// Returns the call that ended, or the attempt; `None` for an event of another kind.
    #[must_use]
    pub fn call_end(&self) -> Option<CallEnd<'_>> {
        match self {
            Self::CallSettled {
                call_id,
                tool,
                output,
                whole,
                child,
                accounting,
                audit,
                rule,
                labels,
                path,
                ..
            } => Some(CallEnd {
                call_id,
                tool: Some(tool),
                node: None,
                output: Some(output),
                failure: None,
                whole: whole.as_ref(),
                child: child.as_ref(),
                accounting,
                audit,
                rule: rule.as_deref(),
                labels,
                path,
            }),
            Self::NodeSettled {
                call_id,
                node,
                tool,
                output,
                whole,
                child,
                accounting,
                audit,
                rule,
                labels,
                ..
            } => Some(CallEnd {
                call_id,
                tool: Some(tool),
                node: Some(node),
                output: output.output.as_ref(),
                failure: output.error.as_ref(),
                whole: whole.as_ref(),
                child: child.as_ref(),
                accounting,
                audit,
                rule: rule.as_deref(),
                labels,
                path: &[],
            }),
            _ => self.failed_attempt(),
        }
    }

    /// Returns the attempt of a node that another one follows.
    fn failed_attempt(&self) -> Option<CallEnd<'_>> {
        match self {
            Self::NodeRetried {
                call_id,
                node,
                failure,
                child,
                accounting,
                audit,
                ..
            } => Some(CallEnd {
                call_id,
                tool: None,
                node: Some(node),
                output: None,
                failure: Some(failure),
                whole: None,
                child: child.as_ref(),
                accounting,
                audit,
                rule: None,
                labels: &[],
                path: &[],
            }),
            _ => None,
        }
    }
}
