use super::*;
use crate::{
    accounting::AuditVerdict,
    approval::{ArgumentPattern, Remember, RememberWhat},
    budget::Budget,
    continuation::{Awaiting, CONTINUATION_VERSION, Continuation, WaitingChild},
    form::Form,
    hook::{HookPoint, ReviewEnd, VerdictKind},
    limits::Limits,
    message::{Role, ToolResult},
    model::{ModelError, ModelErrorKind, StopReason},
    tool::{DecisionKind, ToolCall, ToolRuntime},
    turn::{ChildSummary, Durability, TurnEnd, TurnError, TurnSummary},
    workflow::WorkflowEnd,
};
use pretty_assertions::assert_eq;
use serde_json::json;

/// One event a line: every kind, with every field set.
const GOLDEN: &str = include_str!("golden.jsonl");

fn session() -> SessionId {
    "0198a000-0000-7000-8000-000000000001".parse().unwrap()
}

fn id() -> CallId {
    CallId("call_1".into())
}

fn map() -> Map<String, Value> {
    json!({"path": "a"}).as_object().unwrap().clone()
}

fn usage() -> Usage {
    Usage {
        input_tokens: 3,
        output_tokens: 2,
        cached_input_tokens: 1,
        cache_write_tokens: 0,
        cost_micros: None,
    }
}

fn provenance() -> Provenance {
    Provenance {
        provider: "script".into(),
        model: "tour".into(),
    }
}

fn blob() -> BlobRef {
    BlobRef {
        digest: Digest::of(b"blob"),
        size: 4,
    }
}

fn rule() -> ApprovalRule {
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

fn question() -> Question {
    Question {
        prompt: "Which?".into(),
        choices: vec!["one".into()],
        free_text: true,
        multiple: false,
        form: None,
    }
}

fn form_question() -> Question {
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

fn accounting() -> Accounting {
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

fn audit() -> Vec<AuditEntry> {
    vec![AuditEntry {
        request: "read /workspace/a".into(),
        verdict: AuditVerdict::Denied,
        rule: "default-deny".into(),
        count: 2,
        grant: Some("[[grants.dir]]".into()),
    }]
}

pub(crate) fn pending() -> PendingCall {
    PendingCall {
        call_id: id(),
        tool: "write_file".into(),
        title: Some("Write".into()),
        effect: Effect::Effectful,
        input: map(),
        requested_input: Some(Map::new()),
        input_digest: Digest::of(b"{}"),
        executables: vec!["/workspace/run".into()],
        identity: Some(Digest::of(b"identity")),
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

fn child() -> ChildSummary {
    ChildSummary {
        agent: "researcher".into(),
        session: session(),
        turns: 2,
        tool_calls: 1,
        usage: usage(),
    }
}

fn waiting_child() -> WaitingChild {
    let calls = vec![pending()];
    WaitingChild {
        call_id: id(),
        agent: "researcher".into(),
        continuation: continuation(Awaiting::External { calls }),
    }
}

fn ends() -> Vec<TurnEnd> {
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

fn report(end: TurnEnd) -> TurnReport {
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

fn node_failure() -> NodeFailure {
    NodeFailure {
        failed_index: Some(1),
        ..NodeFailure::new("tool-error", "broken")
    }
}

fn workflow_summary() -> WorkflowSummary {
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

fn workflow_events() -> Vec<Event> {
    vec![
        Event::WorkflowStarted {
            workflow: "report".into(),
            run: 1,
            definition: blob(),
        },
        Event::NodeIntended {
            call_id: id(),
            node: "write".into(),
            iteration: Some(1),
            attempt: 2,
            tool: "write_file".into(),
            input: Some(map()),
            input_digest: Digest::of(b"{}"),
            effect: Effect::Idempotent,
            rule: Some("effect.idempotent".into()),
        },
        Event::NodeSettled {
            call_id: id(),
            node: "write".into(),
            iteration: Some(1),
            tool: "write_file".into(),
            output: NodeOutput {
                error: Some(node_failure()),
                metadata: map(),
                ..NodeOutput::of_result(
                    "write",
                    Some("writer"),
                    ToolResultOutput::Text("no".into()),
                )
            },
            whole: Some(blob()),
            child: Some(child()),
            accounting: accounting(),
            audit: audit(),
            rule: Some("rule.no".into()),
        },
        Event::NodeRetried {
            call_id: id(),
            node: "write".into(),
            iteration: Some(1),
            attempt: 1,
            failure: node_failure(),
            child: Some(child()),
            accounting: accounting(),
            audit: audit(),
        },
        Event::NodeSkipped {
            node: "send".into(),
        },
        Event::WorkflowEnded {
            summary: workflow_summary(),
        },
    ]
}

fn conversation_events() -> Vec<Event> {
    let reply = ModelReply {
        text: "I look.".into(),
        reasoning: String::new(),
        tool_calls: vec![ToolCall::parse(id(), "look".into(), "{}".into())],
        stop_reason: Some(StopReason::ToolUse),
        usage: usage(),
        response_id: Some("resp_1".into()),
        metadata: map(),
        provenance: Some(provenance()),
        raw: Some(json!({"id": "resp_1"})),
    };
    vec![
        Event::SessionStarted {
            program: "0.1.0".into(),
            system: Some("Be brief.".into()),
            directory: Some("/home/ann".into()),
            client: Some("notes 2.1".into()),
            parent: Some(ParentCall {
                session: session(),
                call_id: id(),
            }),
        },
        Event::SessionForked {
            from: session(),
            at: 7,
        },
        Event::RunConfigured {
            arguments: RunArguments {
                directory: Some("/home/ann".into()),
                config: Some("/home/ann/other.toml".into()),
                model: Some("openai:gpt-5".into()),
                effort: Some("high".into()),
                agent: Some("writer".into()),
                tools: vec!["mine.wasm".into()],
                grants: vec!["dir:/data".into(), "env:TOKEN=".into()],
                write: true,
                trust: true,
                allow: vec!["write_file(src/**)".into()],
                deny: vec!["delete_*".into()],
            },
        },
        Event::InputReceived {
            message: Message::text(Role::User, "hi"),
            by: Some("ann".into()),
        },
        Event::ModelRequested {
            turn: 1,
            provenance: provenance(),
            messages: 1,
            tools: 3,
            request_digest: Digest::of(b"request"),
            system: Some(blob()),
            estimated_tokens: 9,
        },
        Event::TurnInterrupted { lost_tokens: 9 },
        Event::ResultsReferenced {
            results: vec![ReferencedResult {
                call_id: id(),
                tool: "look".into(),
                output: ToolResultOutput::Text("[a reference]".into()),
                blob: blob(),
            }],
            size: CompactionStats {
                before_tokens: 2,
                after_tokens: 1,
            },
        },
        Event::HistorySummarised {
            messages: 1,
            message: Message::text(Role::User, "In short: nothing."),
            provenance: provenance(),
            usage: usage(),
            duration_ms: 4,
            size: CompactionStats::default(),
        },
        Event::ModelReplied {
            turn: 1,
            reply,
            discarded: usage(),
            duration_ms: 12,
            tape: Some("tape.jsonl#3".into()),
        },
        Event::RepairRequested {
            message: "again".into(),
        },
    ]
}

fn verdict(point: HookPoint, verdict: VerdictKind) -> HookVerdict {
    HookVerdict {
        hook: "guard".into(),
        point,
        verdict,
        reason: Some("no".into()),
    }
}

fn call_events() -> Vec<Event> {
    vec![
        Event::CallReceived {
            call_id: id(),
            tool: "write_file".into(),
            input: map(),
        },
        Event::CallReviewed {
            call_id: id(),
            tool: "write_file".into(),
            input_digest: Digest::of(b"{}"),
            review: CallReview {
                verdicts: vec![verdict(HookPoint::BeforeTool, VerdictKind::Fallback)],
                input: Some(map()),
                end: ReviewEnd::Fallback {
                    hook: "guard".into(),
                    output: ToolResultOutput::Text("none".into()),
                },
            },
        },
        Event::HookDecided {
            call_id: Some(id()),
            verdict: verdict(HookPoint::AfterTool, VerdictKind::Block),
        },
        Event::CallIntended {
            call_id: id(),
            tool: "write_file".into(),
            input: map(),
            input_digest: Digest::of(b"{}"),
            effect: Effect::Effectful,
            idempotency_key: "key".into(),
            rule: Some("effect.effectful".into()),
            path: vec![CallId("call_0".into())],
        },
        Event::CallsDispatched {
            request: "r".into(),
            turn: 1,
            calls: vec![pending()],
        },
        Event::AgentSpawned {
            call_id: id(),
            session: session(),
            agent: "researcher".into(),
            definition: Digest::of(b"definition"),
        },
        Event::ChildrenWaiting {
            request: "r".into(),
            turn: 1,
            children: vec![waiting_child()],
        },
        Event::CallSettled {
            call_id: id(),
            tool: "write_file".into(),
            output: ToolResultOutput::ExecutionDenied(Some("no".into())),
            accounting: accounting(),
            audit: audit(),
            rule: Some("effect.effectful".into()),
            path: vec![CallId("call_0".into())],
            child: Some(child()),
            labels: vec!["secret".into()],
            tape: Some("tape.jsonl#4".into()),
            whole: Some(blob()),
        },
        Event::StateMerged {
            call_id: id(),
            delta: map(),
        },
        Event::ArtifactStored {
            call_id: Some(id()),
            tool: Some("plot".into()),
            name: "plots/one.png".parse().unwrap(),
            media_type: "image/png".into(),
            blob: blob(),
        },
        Event::ArtifactDeleted {
            call_id: Some(id()),
            name: "plots/one.png".parse().unwrap(),
        },
        Event::RunHalted {
            call_id: id(),
            message: "enough".into(),
        },
        Event::ContextSet {
            context: map().try_into().unwrap(),
        },
    ]
}

fn user_events() -> Vec<Event> {
    let remember = Remember {
        what: RememberWhat::Arguments,
        scope: RememberScope::Session,
    };
    let decisions = vec![
        Decision::Approve {
            call_id: id(),
            remember: Some(remember),
        },
        Decision::Edit {
            call_id: id(),
            input: map(),
        },
        Decision::Reject {
            call_id: id(),
            reason: Some("no".into()),
        },
        Decision::Respond {
            call_id: id(),
            text: "42".into(),
        },
    ];
    vec![
        Event::ApprovalRequested {
            request: "r".into(),
            turn: 1,
            index: 0,
            calls: vec![pending()],
            expires_at_ms: Some(7),
        },
        Event::DecisionRecorded {
            request: "r".into(),
            decisions,
            by: Some(EXPIRY.into()),
        },
        Event::ApprovalRemembered {
            rule: rule(),
            scope: RememberScope::Project,
        },
        Event::ApprovalRevoked { rule: rule() },
        Event::QuestionAsked {
            request: "r".into(),
            turn: 1,
            call_id: id(),
            tool: "ask".into(),
            question: question(),
            answered_by: AnsweredBy::Rerun,
            accounting: accounting(),
            audit: audit(),
        },
        Event::AnswerReceived {
            request: "r".into(),
            call_id: id(),
            answer: Answer::Choice { index: 0 },
            by: Some("ann".into()),
        },
        Event::QuestionAsked {
            request: "s".into(),
            turn: 1,
            call_id: id(),
            tool: "ask".into(),
            question: form_question(),
            answered_by: AnsweredBy::Rerun,
            accounting: accounting(),
            audit: audit(),
        },
        Event::AnswerReceived {
            request: "s".into(),
            call_id: id(),
            answer: Answer::Fields {
                fields: serde_json::from_str(r#"{"name": "ann", "count": 3}"#).unwrap(),
            },
            by: None,
        },
    ]
}

/// A change of the form fails here: it needs another [`EVENT_VERSION`] and another golden file.
#[test]
fn event_form_equals_the_golden_file() {
    let mut events = conversation_events();
    events.extend(call_events());
    events.extend(user_events());
    events.extend(workflow_events());
    let ended = |end| Event::TurnEnded {
        outcome: report(end),
    };
    events.extend(ends().into_iter().map(ended));
    let lines = events.iter().map(|event| json!(event).to_string() + "\n");
    let lines = lines.collect::<String>();
    assert_eq!(lines, GOLDEN);
    for (line, event) in GOLDEN.lines().zip(events) {
        let read = Event::from_stored(EVENT_VERSION, line.as_bytes()).unwrap();
        assert_eq!(read, event);
    }
}

/// Sessions of programs with earlier versions stay readable: each new field has a default.
#[test]
fn event_of_an_earlier_version_is_read() {
    let earlier = [
        (1, include_str!("golden_1.jsonl")),
        (2, include_str!("golden_2.jsonl")),
        (3, include_str!("golden_3.jsonl")),
    ];
    for (version, lines) in earlier {
        for line in lines.lines() {
            let read = Event::from_stored(version, line.as_bytes());
            assert!(read.is_ok(), "{version}: {read:?}: {line}");
        }
    }
}

/// An unreadable event is refused; nothing of it is guessed.
#[test]
fn unreadable_event_is_refused_with_the_reason() {
    let cases = [
        (
            json!({"kind": "state-merged", "call_id": "c", "delta": [1]}),
            "is not in the form that was written (invalid type: sequence, expected a map)",
        ),
        (
            json!({"kind": "turn-ended", "outcome": {
                "type": "awaiting-confirmation", "summary": report(TurnEnd::Cancelled).summary, "continuation": 7,
            }}),
            "is not in the form that was written (invalid type: integer `7`, expected struct Continuation)",
        ),
        (
            json!({"kind": "call-settled", "accounting": "none"}),
            "is not in the form that was written (invalid type: string \"none\", expected struct Accounting)",
        ),
        (
            json!("turn-ended"),
            "is not in the form that was written (invalid type: string \"turn-ended\", expected internally tagged enum Event at line 1 column 12)",
        ),
        (
            json!({"kind": "approval-requested", "request": "r", "turn": 1, "calls": []}),
            "is not in the form that was written (missing field `index`)",
        ),
    ];
    for (stored, expected) in cases {
        let error = Event::from_stored(EVENT_VERSION, stored.to_string().as_bytes()).unwrap_err();
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
