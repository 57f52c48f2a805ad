//! Values of which every field is set.

use super::super::*;
use crate::{
    accounting::AuditVerdict,
    approval::ArgumentPattern,
    audit::{AuditRequest, FileAction},
    budget::Budget,
    continuation::{Awaiting, CONTINUATION_VERSION, Continuation, WaitingChild},
    form::Form,
    limits::Limits,
    message::ToolResult,
    model::{ModelError, ModelErrorKind, StopReason},
    tool::{DecisionKind, ToolRuntime},
    turn::{ChildSummary, Durability, TurnEnd, TurnError, TurnSummary},
    workflow::WorkflowEnd,
};
use serde_json::json;

pub(super) fn session() -> SessionId {
    "0198a000-0000-7000-8000-000000000001".parse().unwrap()
}

pub(super) fn id() -> CallId {
    CallId("call_1".into())
}

pub(super) fn map() -> Map<String, Value> {
    json!({"path": "a"}).as_object().unwrap().clone()
}

pub(super) fn usage() -> Usage {
    Usage {
        input_tokens: 3,
        output_tokens: 2,
        cached_input_tokens: 1,
        cache_write_tokens: 0,
        cost_micros: None,
    }
}

pub(super) fn provenance() -> Provenance {
    Provenance {
        provider: "script".into(),
        model: "tour".into(),
    }
}

pub(super) fn blob() -> BlobRef {
    BlobRef {
        digest: Digest::of(b"blob"),
        size: 4,
    }
}

pub(super) fn rule() -> ApprovalRule {
    ApprovalRule {
        tool: "write_file".into(),
        identity: Digest::of(b"identity"),
        input_digest: Some(Digest::of(b"{}")),
        pattern: Some(ArgumentPattern {
            pointer: "/path".into(),
            glob: "src/**".into(),
        }),
    }
}

pub(super) fn question() -> Question {
    Question {
        prompt: "Which?".into(),
        choices: vec!["one".into()],
        free_text: true,
        multiple: false,
        form: None,
    }
}

pub(super) fn form_question() -> Question {
    let schema = r#"{
        "type": "object",
        "properties": {
            "name": {"type": "string", "title": "Name", "description": "Who?", "format": "email",
                     "minLength": 1, "maxLength": 9, "default": "ann"},
            "count": {"type": "integer", "minimum": 1, "maximum": 9},
            "price": {"type": "number", "minimum": 0.5},
            "gift": {"type": "boolean"},
            "color": {"type": "string", "oneOf": [{"const": "r", "title": "Red"}]}
        },
        "required": ["count"]
    }"#;
    Question {
        prompt: "Your order?".into(),
        form: Form::parse(schema).ok(),
        ..Question::default()
    }
}

pub(super) fn accounting() -> Accounting {
    Accounting {
        wall_us: 1,
        peak_memory_bytes: 2,
        bytes_in: 3,
        bytes_out: 4,
        hosts: vec!["example.com".into()],
        stdio: "log".into(),
        limits: Some(Limits::default()),
    }
}

pub(super) fn audit() -> Vec<AuditEntry> {
    vec![AuditEntry {
        request: AuditRequest::file(FileAction::Read, "/workspace/a".to_owned()),
        verdict: AuditVerdict::Denied,
        rule: "default-deny".into(),
        count: 2,
        grant: Some("[[grants.dir]]".into()),
        status: Some(200),
    }]
}

pub(crate) fn pending() -> PendingCall {
    PendingCall {
        call_id: id(),
        tool: "write_file".into(),
        title: Some("Write".into()),
        description: "Writes a file.".into(),
        effect: Effect::Effectful,
        input: map().into(),
        requested_input: Some(Arc::default()),
        input_digest: Digest::of(b"{}"),
        executables: vec!["/workspace/run".into()],
        identity: Some(Digest::of(b"identity")),
        sources: Vec::new(),
        rule: "effect.effectful".into(),
        decisions: DecisionKind::ALL.into(),
    }
}

pub(crate) fn continuation(awaiting: Awaiting) -> Continuation {
    Continuation {
        version: CONTINUATION_VERSION,
        session: session(),
        turn: 1,
        request: "r".into(),
        awaiting,
        completed: vec![ToolResult {
            call_id: CallId("call_0".into()),
            name: "look".into(),
            output: ToolResultOutput::Text("seen".into()),
            whole: None,
        }],
        usage: usage(),
        expires_at_ms: Some(7),
        signature: Digest::of(b"signed"),
    }
}

/// Everything that a turn may wait for.
pub(crate) fn waits() -> [Awaiting; 3] {
    [
        Awaiting::Confirm {
            index: 0,
            calls: vec![pending()],
        },
        Awaiting::Answer {
            call_id: id(),
            tool: "ask".into(),
            question: question(),
        },
        Awaiting::External {
            calls: vec![pending()],
        },
    ]
}

pub(super) fn child() -> ChildSummary {
    ChildSummary {
        agent: "researcher".into(),
        session: session(),
        turns: 2,
        tool_calls: 1,
        usage: usage(),
    }
}

pub(crate) fn waiting_child() -> WaitingChild {
    let calls = vec![pending()];
    WaitingChild {
        call_id: id(),
        agent: "researcher".into(),
        program: Some("return 1".into()),
        continuation: continuation(Awaiting::External { calls }),
    }
}

pub(crate) fn ends() -> Vec<TurnEnd> {
    let [confirm, answer, external] = waits().map(continuation);
    let result = ToolResult {
        call_id: id(),
        name: "submit".into(),
        output: ToolResultOutput::json(json!(1)),
        whole: None,
    };
    vec![
        TurnEnd::NeedsMoreTurns,
        TurnEnd::Done {
            text: "done".into(),
            output: Some(json!([1])),
            result: Some(result),
        },
        TurnEnd::Halted {
            message: "enough".into(),
        },
        TurnEnd::BudgetExceeded {
            budget: Budget::Turns { limit: 50 },
        },
        TurnEnd::AwaitingConfirmation {
            continuation: confirm,
        },
        TurnEnd::AwaitingAnswer {
            continuation: answer,
        },
        TurnEnd::AwaitingChildren {
            continuation: continuation(Awaiting::Children {
                children: vec![waiting_child()],
            }),
        },
        TurnEnd::PendingToolCalls {
            continuation: external,
        },
        TurnEnd::Refusal { text: "no".into() },
        TurnEnd::Cancelled,
        TurnEnd::Error {
            error: TurnError::Model {
                error: ModelError::new(ModelErrorKind::Server, "overloaded"),
            },
        },
    ]
}

pub(crate) fn report(end: TurnEnd) -> TurnReport {
    let summary = TurnSummary {
        session: session(),
        turn: 1,
        total_turns: 2,
        turn_usage: usage(),
        total_usage: usage(),
        provenance: provenance(),
        response_id: Some("resp_1".into()),
        stop_reason: Some(StopReason::EndTurn),
        tool_calls: 1,
        duration_ms: 5,
        tool_runtime: ToolRuntime::Host,
        durability: Durability::Turn,
        children: vec![child()],
        workflow: Some(workflow_summary()),
    };
    TurnReport { end, summary }
}

pub(super) fn node_failure() -> NodeFailure {
    NodeFailure {
        failed_index: Some(1),
        ..NodeFailure::new("tool-error", "broken")
    }
}

pub(crate) fn workflow_summary() -> WorkflowSummary {
    WorkflowSummary {
        workflow: "report".into(),
        end: WorkflowEnd::Aborted {
            node: "write".into(),
            failure: node_failure(),
        },
        done: 1,
        failed: [("write".into(), node_failure())].into(),
        skipped: vec!["send".into()],
    }
}
