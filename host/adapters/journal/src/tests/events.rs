//! Fixtures: events of every kind.

mod outcomes;

use agent_host_types::{
    accounting::{Accounting, AuditEntry, AuditVerdict},
    approval::{ApprovalRule, Decision, Remember, RememberScope, RememberWhat},
    audit::{AuditRequest, FileAction},
    context::{CompactionStats, ReferencedResult},
    continuation::PendingCall,
    event::{EVENT_VERSION, Event, EventRecord},
    hook::{CallReview, HookPoint, HookVerdict, ReviewEnd, VerdictKind},
    id::{CallId, Digest, SessionId, json_digest},
    limits::Limits,
    message::{Message, Role},
    model::{ModelReply, Provenance, StopReason, Usage},
    output::{Blob, ContentPart, FileData, FilePart, ToolResultOutput},
    question::{Answer, AnsweredBy, Question},
    tool::{DecisionKind, Effect, ToolCall},
};
use outcomes::outcomes;
use serde_json::json;

pub(crate) fn record(session: SessionId, seq: u64, event: Event) -> EventRecord {
    EventRecord {
        v: EVENT_VERSION,
        session,
        seq,
        at_ms: 1_800_000_000_000 + seq,
        event,
    }
}

pub(crate) fn input(text: &str) -> Event {
    Event::InputReceived {
        message: Message::text(Role::User, text),
        labels: Vec::new(),
        by: None,
    }
}

/// Events of every kind, with every variant of what they hold that has a form of its own.
pub(super) fn every_event(session: SessionId, blob: &Blob) -> Vec<Event> {
    let call_id = CallId("call_1".to_owned());
    let arguments =
        json!({"path": "ünïcode \u{0} \u{1F980}", "n": 1.5e300, "deep": [[null, true]]});
    let map = arguments.as_object().unwrap().clone();
    let provenance = Provenance {
        provider: "script".to_owned(),
        model: "tour".to_owned(),
    };
    let mut events = vec![
        Event::SessionStarted {
            program: "0.1.0".to_owned(),
            system: Some("Be brief.".to_owned()),
            directory: Some("/home/ann/photos".to_owned()),
            client: Some("MCP client notes 2.1".to_owned()),
            parent: None,
            labels: Vec::new(),
        },
        Event::SessionForked {
            from: session,
            at: 7,
            by: None,
        },
        Event::InputReceived {
            message: Message::parts(
                Role::User,
                vec![
                    ContentPart::File(FilePart {
                        media_type: "image/png".to_owned(),
                        data: FileData::Blob(blob.reference()),
                        filename: Some("a.png".to_owned()),
                    }),
                    ContentPart::Text {
                        text: " What is\nin this directory? ".to_owned(),
                    },
                ],
            ),
            labels: Vec::new(),
            by: None,
        },
        Event::ModelRequested {
            turn: 1,
            provenance: provenance.clone(),
            messages: 1,
            tools: 3,
            estimated_tokens: 0,
            request_digest: Digest::of(b"request"),
            system: None,
        },
        Event::ModelReplied {
            turn: 1,
            reply: ModelReply {
                text: "I look.".to_owned(),
                reasoning: "The file has it.".into(),
                tool_calls: vec![ToolCall::parse(
                    call_id.clone(),
                    "read_file".to_owned(),
                    arguments.to_string(),
                )],
                stop_reason: Some(StopReason::ToolUse),
                usage: Usage {
                    input_tokens: u64::MAX,
                    output_tokens: 2,
                    cached_input_tokens: 1,
                    cache_write_tokens: 0,
                    cost_micros: None,
                },
                response_id: Some("resp_1".to_owned()),
                metadata: map.clone(),
                provenance: Some(provenance.clone()),
                raw: Some(json!({ "id": "resp_1" })),
            },
            discarded: Usage {
                input_tokens: 1,
                ..Usage::default()
            },
            duration_ms: 12,
            tape: None,
        },
        Event::TurnInterrupted { lost_tokens: 9 },
        Event::AgentSpawned {
            call_id: call_id.clone(),
            session,
            agent: "helper".to_owned(),
            definition: Digest::of(b"definition"),
        },
        Event::ChildrenWaiting {
            request: "r".to_owned(),
            turn: 1,
            children: Vec::new(),
        },
        Event::ResultsReferenced {
            results: vec![ReferencedResult {
                call_id: call_id.clone(),
                tool: "look".into(),
                output: ToolResultOutput::Text("[a reference]".to_owned()),
                blob: blob.reference(),
            }],
            size: CompactionStats {
                before_tokens: u64::MAX,
                after_tokens: 1,
            },
        },
        Event::HistorySummarised {
            messages: 1,
            message: Message::text(Role::User, "In short: nothing."),
            provenance: provenance.clone(),
            usage: Usage {
                input_tokens: 2,
                ..Usage::default()
            },
            duration_ms: 4,
            size: CompactionStats::default(),
        },
        Event::CallReceived {
            call_id: call_id.clone(),
            tool: "write_file".to_owned(),
            input: map.clone().into(),
        },
        Event::CallReviewed {
            call_id: call_id.clone(),
            tool: "read_file".to_owned(),
            input_digest: json_digest(&arguments),
            review: CallReview {
                verdicts: Vec::new(),
                input: Some(map.clone().into()),
                end: ReviewEnd::Ask {
                    hook: "guard".to_owned(),
                },
            },
        },
        Event::HookDecided {
            call_id: None,
            verdict: HookVerdict {
                hook: "guard".to_owned(),
                point: HookPoint::AfterModel,
                verdict: VerdictKind::Modify,
                reason: None,
            },
        },
        Event::CallIntended {
            call_id: call_id.clone(),
            tool: "read_file".to_owned(),
            input: map.clone().into(),
            input_digest: json_digest(&arguments),
            effect: Effect::ReadOnly,
            idempotency_key: "key".to_owned(),
            rule: None,
            path: Vec::new(),
        },
        Event::ApprovalRequested {
            request: "request_1".to_owned(),
            turn: 1,
            index: 0,
            calls: vec![pending(&call_id)],
            expires_at_ms: Some(7),
        },
        Event::QuestionAsked {
            request: "request_2".to_owned(),
            turn: 1,
            call_id: call_id.clone(),
            tool: "ask".to_owned(),
            question: question(),
            answered_by: AnsweredBy::Rerun,
            accounting: accounting(),
            audit: Vec::new(),
        },
        Event::CallsDispatched {
            request: "request_3".to_owned(),
            turn: 1,
            calls: vec![pending(&call_id)],
        },
        Event::LoopConfigured {
            setup: blob.reference(),
            approvals: Vec::new(),
        },
        Event::ProgramCalled { calls: Vec::new() },
        Event::ProgramEnded {
            output: ToolResultOutput::Text("done".to_owned()),
            whole: None,
            accounting: accounting(),
            audit: Vec::new(),
        },
        Event::RepairRequested {
            message: "again".to_owned(),
        },
        Event::ApprovalRemembered {
            rule: rule(),
            scope: RememberScope::Session,
        },
        Event::ApprovalRevoked { rule: rule() },
        Event::DecisionRecorded {
            request: "request_1".to_owned(),
            decisions: decisions(&call_id),
            by: None,
        },
        Event::StateMerged {
            call_id: call_id.clone(),
            delta: map.clone(),
            labels: Vec::new(),
        },
        Event::ArtifactStored {
            call_id: Some(call_id.clone()),
            tool: Some("plot".to_owned()),
            name: "plots/one.png".parse().unwrap(),
            media_type: "image/png".to_owned(),
            blob: blob.reference(),
        },
        Event::ArtifactDeleted {
            call_id: None,
            name: "plots/one.png".parse().unwrap(),
        },
        Event::RunHalted {
            call_id: call_id.clone(),
            message: "enough".to_owned(),
        },
        Event::ContextSet {
            context: map.clone().try_into().unwrap(),
        },
    ];
    events.extend(answers().map(|answer| Event::AnswerReceived {
        request: "request_2".to_owned(),
        call_id: call_id.clone(),
        answer,
        by: None,
    }));
    events.extend(outputs(blob).into_iter().map(|output| Event::CallSettled {
        call_id: call_id.clone(),
        tool: "read_file".to_owned(),
        output,
        accounting: accounting(),
        audit: vec![AuditEntry {
            request: AuditRequest::file(FileAction::Read, "/workspace/notes.txt".to_owned()),
            verdict: AuditVerdict::Denied,
            rule: "default-deny".to_owned(),
            count: 3,
            grant: Some("[[grants.dir]]\nhost = \".\"".to_owned()),
            status: None,
        }],
        rule: None,
        path: Vec::new(),
        child: None,
        labels: Vec::new(),
        reference: None,
        tape: None,
        whole: None,
    }));
    let outcomes = outcomes(session, provenance, &call_id);
    events.extend(
        outcomes
            .into_iter()
            .map(|outcome| Event::TurnEnded { outcome, by: None }),
    );
    events
}

fn question() -> Question {
    Question {
        prompt: "Which?".to_owned(),
        choices: vec!["a".to_owned(), "b".to_owned()],
        free_text: true,
        multiple: false,
        form: None,
    }
}

fn answers() -> impl Iterator<Item = Answer> {
    let text = Answer::Text {
        text: "c".to_owned(),
    };
    [text, Answer::Choice { index: 1 }, Answer::Cancelled].into_iter()
}

fn rule() -> ApprovalRule {
    ApprovalRule {
        tool: "write_file".to_owned(),
        identity: Digest::of(b"the tool"),
        input_digest: Some(Digest::of(b"{}")),
        pattern: None,
    }
}

pub(super) fn accounting() -> Accounting {
    Accounting {
        wall_us: 1,
        peak_memory_bytes: 2,
        bytes_in: 3,
        bytes_out: 4,
        hosts: vec!["example.com".to_owned()],
        stdio: "debug\n".to_owned(),
        limits: Some(Limits::default()),
    }
}

fn pending(call_id: &CallId) -> PendingCall {
    PendingCall {
        call_id: call_id.clone(),
        tool: "write_file".to_owned(),
        title: Some("Write a file".to_owned()),
        description: String::new(),
        effect: Effect::Effectful,
        input: serde_json::Map::new().into(),
        input_digest: Digest::of(b"{}"),
        requested_input: None,
        executables: Vec::new(),
        identity: None,
        sources: Vec::new(),
        rule: "effect.effectful".to_owned(),
        decisions: DecisionKind::ALL.into(),
    }
}

fn decisions(call_id: &CallId) -> Vec<Decision> {
    let call_id = call_id.clone();
    vec![
        Decision::approve(call_id.clone()),
        Decision::Approve {
            call_id: call_id.clone(),
            remember: Some(Remember {
                what: RememberWhat::Arguments,
                scope: RememberScope::Project,
            }),
        },
        Decision::Edit {
            call_id: call_id.clone(),
            input: serde_json::Map::new().into(),
        },
        Decision::Reject {
            call_id: call_id.clone(),
            reason: None,
        },
        Decision::Respond {
            call_id,
            text: "no".to_owned(),
        },
    ]
}

fn outputs(blob: &Blob) -> Vec<ToolResultOutput> {
    let file = |data| {
        ContentPart::File(FilePart {
            media_type: "application/octet-stream".to_owned(),
            data,
            filename: None,
        })
    };
    vec![
        ToolResultOutput::Text("plain".to_owned()),
        // A value that looks like the union itself stays a value.
        ToolResultOutput::json(json!({"type": "error-text", "value": "not an error"})),
        ToolResultOutput::Content(vec![
            file(FileData::Bytes(vec![0, 255, 10])),
            file(FileData::Url("https://example.com/a".to_owned())),
            file(FileData::Text("inline".to_owned())),
            file(FileData::Blob(blob.reference())),
        ]),
        ToolResultOutput::ErrorText("bad".to_owned()),
        ToolResultOutput::error_json(json!({"code": "trap", "message": "crashed"})),
        ToolResultOutput::ExecutionDenied(None),
        ToolResultOutput::ExecutionDenied(Some("no".to_owned())),
    ]
}

fn settled(blob: &Blob) -> Event {
    let file = FilePart {
        media_type: "text/plain".to_owned(),
        data: FileData::Blob(blob.reference()),
        filename: None,
    };
    Event::CallSettled {
        call_id: CallId("call_1".to_owned()),
        tool: "read".to_owned(),
        output: ToolResultOutput::Content(vec![ContentPart::File(file)]),
        accounting: accounting(),
        audit: Vec::new(),
        rule: None,
        path: Vec::new(),
        child: None,
        labels: Vec::new(),
        reference: None,
        tape: None,
        whole: None,
    }
}

/// Returns a session of two turns with a blob in each: events 3 and 6 end them, and event 7
/// follows.
pub(super) fn two_turns(session: SessionId, blobs: [&Blob; 2]) -> Vec<EventRecord> {
    let ended = ended(session, "done").event;
    let started = Event::SessionStarted {
        program: "test".to_owned(),
        system: None,
        directory: Some("/home/ann".to_owned()),
        client: None,
        parent: None,
        labels: Vec::new(),
    };
    let events = [
        started,
        input("first"),
        settled(blobs[0]),
        ended.clone(),
        input("second"),
        settled(blobs[1]),
        ended,
        input("third"),
    ];
    (0..)
        .zip(events)
        .map(|(seq, event)| record(session, seq, event))
        .collect()
}

/// Returns the record of a turn's end, which is event 1.
pub(super) fn ended(session: SessionId, outcome_type: &str) -> EventRecord {
    let provenance = Provenance {
        provider: "script".to_owned(),
        model: "tour".to_owned(),
    };
    let outcome = outcomes(session, provenance, &CallId("call_1".to_owned()))
        .into_iter()
        .find(|outcome| serde_json::to_value(outcome).unwrap()["type"] == outcome_type)
        .unwrap();
    record(session, 1, Event::TurnEnded { outcome, by: None })
}
