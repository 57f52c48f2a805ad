//! Fixtures: every outcome of a turn.

use super::{pending, question};
use agent_host_types::{
    budget::Budget,
    continuation::{Awaiting, CONTINUATION_VERSION, Continuation},
    id::{CallId, Digest, SessionId},
    model::{ModelError, ModelErrorKind, Provenance, StopReason, Usage},
    tool::ToolRuntime,
    turn::{Durability, TurnEnd, TurnError, TurnReport, TurnSummary},
};
use serde_json::json;

pub(super) fn outcomes(
    session: SessionId,
    provenance: Provenance,
    call_id: &CallId,
) -> Vec<TurnReport> {
    let summary = TurnSummary {
        session,
        turn: 1,
        total_turns: 1,
        turn_usage: Usage::default(),
        total_usage: Usage::default(),
        provenance,
        response_id: None,
        stop_reason: Some(StopReason::EndTurn),
        tool_calls: 0,
        duration_ms: 5,
        tool_runtime: ToolRuntime::Host,
        durability: Durability::Turn,
        children: Vec::new(),
        workflow: None,
    };
    let continuation = |awaiting| Continuation {
        version: CONTINUATION_VERSION,
        session,
        turn: 1,
        request: "request_1".to_owned(),
        awaiting,
        completed: Vec::new(),
        usage: Usage::default(),
        expires_at_ms: Some(7),
        signature: Digest::of(b"signed"),
    };
    let calls = || vec![pending(call_id)];
    let text = "said".to_owned();
    let ends = [
        TurnEnd::NeedsMoreTurns,
        TurnEnd::BudgetExceeded {
            budget: Budget::Turns { limit: 50 },
        },
        TurnEnd::AwaitingConfirmation {
            continuation: continuation(Awaiting::Confirm {
                index: 0,
                calls: calls(),
            }),
        },
        TurnEnd::AwaitingAnswer {
            continuation: continuation(Awaiting::Answer {
                call_id: call_id.clone(),
                tool: "ask".to_owned(),
                question: question(),
            }),
        },
        TurnEnd::AwaitingChildren {
            continuation: continuation(Awaiting::Children {
                children: Vec::new(),
            }),
        },
        TurnEnd::PendingToolCalls {
            continuation: continuation(Awaiting::External { calls: calls() }),
        },
        TurnEnd::Refusal { text: text.clone() },
        TurnEnd::Cancelled,
        TurnEnd::Error {
            error: TurnError::Model {
                error: ModelError::new(ModelErrorKind::Unreachable, "no connection"),
            },
        },
        TurnEnd::Error {
            error: TurnError::ContextWindow {
                needed_tokens: 2,
                window_tokens: 1,
                largest: "a message of the user with about 2 tokens".to_owned(),
                said: None,
            },
        },
        TurnEnd::Done {
            text,
            output: Some(json!([1])),
            result: None,
        },
    ];
    let report = |end| TurnReport {
        summary: summary.clone(),
        end,
    };
    ends.map(report).into()
}
