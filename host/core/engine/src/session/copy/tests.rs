//! The content of a copy, and the parts of the original that it leaves out.

use super::*;
use agent_host_types::{
    approval::{ApprovalRule, Decision, RememberScope},
    context::CompactionStats,
    continuation::PendingCall,
    id::{CallId, json_digest},
    message::Role,
    model::{ModelReply, Provenance, Usage},
    output::{Blob, FilePart},
    tool::{DecisionKind, Effect, ToolCall},
};
use pretty_assertions::assert_eq;
use serde_json::{Map, Value, json};

fn call_id(id: &str) -> CallId {
    CallId(id.into())
}

fn pending(id: &str) -> PendingCall {
    PendingCall {
        call_id: call_id(id),
        tool: "send".into(),
        title: None,
        description: String::new(),
        effect: Effect::Effectful,
        input: Map::new().into(),
        input_digest: json_digest(&json!({})),
        requested_input: None,
        executables: Vec::new(),
        identity: None,
        sources: Vec::new(),
        rule: "effect.effectful".into(),
        decisions: DecisionKind::ALL.into(),
    }
}

/// A session with calls `ids`, one of which was approved for the whole session.
fn started(ids: &[&str]) -> Vec<Event> {
    let tool_calls = ids
        .iter()
        .map(|id| ToolCall::parse(call_id(id), "send".into(), String::new()))
        .collect();
    vec![
        Event::SessionStarted {
            program: "test".into(),
            system: None,
            directory: None,
            client: None,
            parent: None,
            labels: Vec::new(),
        },
        Event::InputReceived {
            message: Message::text(Role::User, "send it"),
            labels: Vec::new(),
            by: None,
        },
        Event::ApprovalRemembered {
            rule: ApprovalRule {
                tool: "send".into(),
                identity: Digest::of(b"send"),
                input_digest: None,
                pattern: None,
            },
            scope: RememberScope::Session,
        },
        Event::ModelRequested {
            turn: 1,
            provenance: Provenance {
                provider: "queue".into(),
                model: "m".into(),
            },
            messages: 1,
            tools: 1,
            estimated_tokens: 0,
            request_digest: Digest::of(b"request"),
            system: None,
        },
        Event::ModelReplied {
            turn: 1,
            reply: ModelReply {
                tool_calls,
                ..ModelReply::default()
            },
            discarded: Usage::default(),
            duration_ms: 1,
            tape: None,
        },
    ]
}

fn intended(id: &str) -> Event {
    Event::CallIntended {
        call_id: call_id(id),
        tool: "send".into(),
        input: Map::new().into(),
        input_digest: json_digest(&json!({})),
        effect: Effect::ReadOnly,
        idempotency_key: "key".into(),
        rule: None,
        path: Vec::new(),
    }
}

fn settled(id: &str, output: ToolResultOutput) -> Event {
    Event::CallSettled {
        call_id: call_id(id),
        tool: "send".into(),
        output,
        accounting: Accounting::default(),
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

fn records(session: SessionId, events: Vec<Event>) -> Vec<EventRecord> {
    (0..)
        .zip(events)
        .map(|(seq, event)| EventRecord {
            v: EVENT_VERSION,
            session,
            seq,
            at_ms: seq,
            event,
        })
        .collect()
}

/// Whatever is open in the original, the copy has no open request, no remembered approval, and one
/// result for each call.
#[test]
fn copy_inherits_no_authority() {
    let waits = Event::ApprovalRequested {
        request: "r".into(),
        turn: 1,
        index: 0,
        calls: vec![pending("a")],
        expires_at_ms: None,
    };
    let approved = Event::DecisionRecorded {
        request: "r".into(),
        decisions: vec![Decision::approve(call_id("a"))],
        by: None,
    };
    let delegated = Event::CallsDispatched {
        request: "r".into(),
        turn: 1,
        calls: vec![pending("a")],
    };
    let denied = || ToolResultOutput::ExecutionDenied(Some(NOT_STARTED.into()));
    let unknown = || ToolResultOutput::from(interrupted_result("send"));
    let done = || ToolResultOutput::Text("sent".into());
    for (what, more, expected) in [
        ("calls wait", vec![waits.clone()], vec![denied(), denied()]),
        (
            "one was approved and has not begun",
            vec![waits, approved],
            vec![denied(), denied()],
        ),
        (
            "one runs, and would run again on resume",
            vec![intended("a")],
            vec![unknown(), denied()],
        ),
        (
            "one runs outside",
            vec![intended("a"), delegated],
            vec![unknown(), denied()],
        ),
        (
            "one is done",
            vec![intended("a"), settled("a", done())],
            vec![denied()],
        ),
        (
            "all are done",
            vec![settled("a", done()), settled("b", done())],
            vec![],
        ),
    ] {
        let (from, into) = (SessionId::new(), SessionId::new());
        let original = records(from, [started(&["a", "b"]), more].concat());
        let at = original.len() as u64 - 1;
        let mut copy = SessionCopy::new(from, into);
        let mut copied: Vec<EventRecord> = original
            .iter()
            .map(|record| copy.next(record.clone()).unwrap())
            .collect();
        let unchanged = original.iter().map(|record| EventRecord {
            session: into,
            ..record.clone()
        });
        assert_eq!(copied, unchanged.collect::<Vec<_>>(), "{what}");
        let end = copy.finish().unwrap();
        let answers: Vec<ToolResultOutput> = end
            .iter()
            .skip(1)
            .filter_map(|record| match &record.event {
                Event::CallSettled { output, .. } => Some(output.clone()),
                Event::FilesLabelled { .. } => None,
                other => panic!("{what}: {other:?}"),
            })
            .collect();
        assert_eq!(answers, expected, "{what}");
        // A call that runs here may have written any text anywhere.
        let labelled = end.iter().any(|record| {
            matches!(&record.event, Event::FilesLabelled { files, .. } if files[0].path == "/")
        });
        assert_eq!(labelled, what.starts_with("one runs, "), "{what}");
        assert_eq!(
            end[0].event,
            Event::SessionForked { from, at, by: None },
            "{what}"
        );
        copied.extend(end);
        let mut state = SessionState::default();
        for (place, record) in (0..).zip(&copied) {
            check_record(record, place, into).unwrap();
            state.apply(&record.event);
        }
        assert_eq!(state.open.as_ref(), None, "{what}");
        assert_eq!(state.batch(), [], "{what}");
        assert_eq!(state.remembered(), [], "{what}");
        let last = state.messages().last().unwrap();
        assert_eq!(last.tool_results.len(), 2, "{what}");
    }
}

/// Records from outside that no loop could have written are refused.
#[test]
fn copy_of_an_impossible_record_is_refused() {
    let start = || started(&[]).remove(0);
    let mut with_calls = Message::text(Role::User, "x");
    with_calls.tool_calls = vec![ToolCall::parse(call_id("a"), "send".into(), String::new())];
    let input = |message| {
        vec![
            start(),
            Event::InputReceived {
                message,
                labels: Vec::new(),
                by: None,
            },
        ]
    };
    let not_of_the_user = "its event 1 is an input that is not a user message";
    let summary = |messages, message| {
        let summarised = Event::HistorySummarised {
            messages,
            message,
            provenance: Provenance {
                provider: "queue".into(),
                model: "m".into(),
            },
            usage: Usage::default(),
            duration_ms: 1,
            size: CompactionStats::default(),
        };
        let settled = settled("a", ToolResultOutput::Text("ok".into()));
        [started(&["a"]), vec![settled, summarised]].concat()
    };
    let short = || Message::text(Role::User, "in short");
    let parted = "its event 6 summarises messages that do not end before a model message";
    for (events, what) in [
        (
            started(&[]).split_off(1),
            "its event 0 is not the beginning of a session",
        ),
        (
            vec![start(), start()],
            "its event 1 starts the session again",
        ),
        (input(Message::text(Role::System, "obey")), not_of_the_user),
        (input(with_calls), not_of_the_user),
        (summary(0, short()), parted),
        (summary(2, short()), parted),
        (summary(4, short()), parted),
        (
            summary(1, Message::text(Role::System, "obey")),
            "its event 6 replaces older messages with something other than a user message",
        ),
    ] {
        let from = SessionId::new();
        let mut copy = SessionCopy::new(from, SessionId::new());
        let copied: Result<Vec<_>, _> = records(from, events)
            .into_iter()
            .map(|record| copy.next(record))
            .collect();
        assert_eq!(
            copied.unwrap_err().to_string(),
            format!("cannot copy session {from}: {what}")
        );
    }
    let from = SessionId::new();
    let mut copy = SessionCopy::new(from, from);
    let foreign = records(SessionId::new(), vec![start()]).remove(0);
    assert!(matches!(copy.next(foreign), Err(JournalError::Corrupt(_))));
    assert_eq!(
        copy.finish().unwrap_err().to_string(),
        format!("cannot copy session {from}: it has no events")
    );
}

#[test]
fn copy_lists_the_blobs_of_its_file_parts() {
    let from = SessionId::new();
    let [said, made, inline] = [b"said", b"made", b"here"].map(|bytes| Blob::new(bytes.to_vec()));
    let part = |data| {
        ContentPart::File(FilePart {
            media_type: "image/png".into(),
            data,
            filename: None,
        })
    };
    let mut events = started(&["a"]);
    events[1] = Event::InputReceived {
        message: Message::parts(Role::User, vec![part(FileData::Blob(said.reference()))]),
        labels: Vec::new(),
        by: None,
    };
    let parts = vec![
        part(FileData::Blob(made.reference())),
        part(FileData::Bytes(inline.bytes)),
        ContentPart::Text {
            text: inline.digest.to_string(),
        },
    ];
    events.push(settled("a", ToolResultOutput::Content(parts)));
    let like_a_reference: Value =
        json!({"type": "blob", "value": {"digest": inline.digest, "size": 4}});
    events.push(settled("a", ToolResultOutput::json(like_a_reference)));
    let mut copy = SessionCopy::new(from, from);
    for record in records(from, events) {
        copy.next(record).unwrap();
    }
    assert_eq!(copy.blobs(), &HashSet::from([said.digest, made.digest]));
}
