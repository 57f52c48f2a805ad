use super::*;
use crate::{
    approval::Remember,
    continuation::{Awaiting, Continuation},
    limits::Limits,
    tool::{DecisionKind, ToolRuntime},
    turn::TurnSummary,
};
use pretty_assertions::assert_eq;
use serde_json::json;

/// A session id, and a pending call in the form of version 1 and as it is read.
fn parts() -> (SessionId, Value, PendingCall) {
    let session: SessionId = "0198a000-0000-7000-8000-000000000001".parse().unwrap();
    let digest = Digest::of(b"{}");
    let stored = json!({
        "call_id": "call_1", "tool": "write_file", "effect": "effectful", "input": {"path": "a"},
        "input_digest": digest, "rule": "effect.effectful",
    });
    let input = json!({"path": "a"}).as_object().unwrap().clone();
    let read = PendingCall {
        call_id: CallId("call_1".into()),
        tool: "write_file".into(),
        title: None,
        effect: Effect::Effectful,
        input,
        input_digest: digest,
        requested_input: None,
        executables: Vec::new(),
        rule: "effect.effectful".into(),
        decisions: DecisionKind::ALL.into(),
    };
    (session, stored, read)
}

fn summary(session: SessionId) -> TurnSummary {
    TurnSummary {
        session,
        turn: 1,
        total_turns: 1,
        turn_usage: Usage::default(),
        total_usage: Usage::default(),
        provenance: Provenance {
            provider: "script".into(),
            model: "tour".into(),
        },
        response_id: None,
        stop_reason: None,
        tool_calls: 1,
        duration_ms: 5,
        tool_runtime: ToolRuntime::Host,
    }
}

/// What version 1 wrote otherwise than this version does, and what becomes of it.
#[test]
fn events_of_version_1_are_read() {
    let (session, call, read) = parts();
    let accounting = |limits: Value| json!({"wall_us": 1, "peak_memory_bytes": 2, "bytes_in": 3, "bytes_out": 4, "limits": limits});
    let limits = Limits {
        deadline_ms: 7,
        http_connections: u64::MAX,
        http_timeout_ms: 9,
        file_write_bytes: u64::MAX,
        file_creates: u64::MAX,
        ..Limits::default()
    };
    let cases = [
        (
            json!({"kind": "approval-requested", "request": "r", "turn": 1, "calls": [call]}),
            Event::ApprovalRequested {
                request: "r".into(),
                turn: 1,
                index: 0,
                calls: vec![read.clone()],
                expires_at_ms: None,
            },
        ),
        (
            json!({"kind": "turn-ended", "outcome": {
                "type": "awaiting-confirmation", "summary": summary(session),
                "continuation": {
                    "version": 1, "kind": "confirm", "session": session, "turn": 1, "request": "r", "calls": [call],
                },
            }}),
            Event::TurnEnded {
                outcome: Outcome::AwaitingConfirmation {
                    summary: summary(session),
                    continuation: Continuation {
                        version: 1,
                        session,
                        turn: 1,
                        request: "r".into(),
                        awaiting: Awaiting::Confirm {
                            index: 0,
                            calls: vec![read],
                        },
                        completed: Vec::new(),
                        usage: Usage::default(),
                        expires_at_ms: None,
                        signature: Digest::of(&[]),
                    },
                },
            },
        ),
        (
            json!({"kind": "call-settled", "call_id": "call_1", "tool": "write_file",
            "output": {"type": "text", "value": "ok"}, "accounting": accounting(json!({
                "deadline-ms": 7, "http-timeout-ms": 9,
            }))}),
            Event::CallSettled {
                call_id: CallId("call_1".into()),
                tool: "write_file".into(),
                output: ToolResultOutput::Text("ok".into()),
                accounting: Accounting {
                    wall_us: 1,
                    peak_memory_bytes: 2,
                    bytes_in: 3,
                    bytes_out: 4,
                    limits: Some(limits),
                    ..Accounting::default()
                },
                audit: Vec::new(),
            },
        ),
        (
            json!({"kind": "decision-recorded", "request": "r", "decisions": [{"type": "approve", "call_id": "call_1"}]}),
            Event::DecisionRecorded {
                request: "r".into(),
                decisions: vec![Decision::Approve {
                    call_id: CallId("call_1".into()),
                    remember: None::<Remember>,
                }],
            },
        ),
    ];
    for (stored, expected) in cases {
        let read = Event::from_stored(1, stored.to_string().as_bytes()).unwrap();
        assert_eq!(read, expected);
    }
}

/// What no program wrote is refused in words, in every version; nothing of it is guessed.
#[test]
fn what_cannot_be_read_says_why() {
    let cases = [
        (
            1,
            json!({"kind": "state-merged", "call_id": "c", "delta": [1]}),
            "is not in the form that was written (invalid type: sequence, expected a map)",
        ),
        (
            1,
            json!({"kind": "turn-ended", "outcome": {"type": "awaiting-confirmation", "continuation": 7}}),
            "is not in the form that was written (invalid type: integer `7`, expected struct Continuation)",
        ),
        (
            1,
            json!({"kind": "call-settled", "accounting": "none"}),
            "is not in the form that was written (invalid type: string \"none\", expected struct Accounting)",
        ),
        (
            1,
            json!("turn-ended"),
            "is not in the form that was written (invalid type: string \"turn-ended\", expected internally tagged enum Event)",
        ),
        (
            EVENT_VERSION,
            json!({"kind": "approval-requested", "request": "r", "turn": 1, "calls": []}),
            "is not in the form that was written (missing field `index`)",
        ),
    ];
    for (v, stored, expected) in cases {
        let error = Event::from_stored(v, stored.to_string().as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), expected, "{stored}");
    }
    assert_eq!(
        Event::from_stored(EVENT_VERSION + 1, b"{}")
            .unwrap_err()
            .to_string(),
        format!(
            "has version {} and this program knows versions up to {EVENT_VERSION}; use the agent-host that wrote it, probably a \
             newer one",
            EVENT_VERSION + 1
        )
    );
    assert!(matches!(
        Event::from_stored(0, b"nothing"),
        Err(EventError::Form(_))
    ));
}
