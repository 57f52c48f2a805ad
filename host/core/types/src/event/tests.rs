pub(crate) mod every;
pub(crate) mod values;

use super::*;
use crate::turn::TurnEnd;
use every::{call_events, conversation_events, user_events, workflow_events};
use pretty_assertions::assert_eq;
use serde_json::json;
use values::{ends, report};

/// One event a line: every kind, with every field set.
const GOLDEN: &str = include_str!("golden.jsonl");

/// A change of the form fails here: it needs another [`EVENT_VERSION`] and another golden file.
#[test]
fn event_form_equals_the_golden_file() {
    let mut events = conversation_events();
    events.extend(call_events());
    events.extend(user_events());
    events.extend(workflow_events());
    let ended = |end| Event::TurnEnded {
        by: (end == TurnEnd::Cancelled).then(|| "ann".to_owned()),
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

/// A call of a model and a node of a workflow are read as one kind of call.
#[test]
fn calls_and_nodes_are_read_alike() {
    let events = [call_events(), workflow_events()].concat();
    let starts = events.iter().filter_map(Event::call_start).map(|start| {
        let CallStart { tool, effect, .. } = start;
        let input = start.input.map(|input| input.len());
        (tool, start.node, input, effect.as_str(), start.rule)
    });
    assert_eq!(
        starts.collect::<Vec<_>>(),
        [
            (
                "write_file",
                None,
                Some(1),
                "effectful",
                Some("effect.effectful")
            ),
            (
                "write_file",
                Some("write"),
                Some(1),
                "idempotent",
                Some("effect.idempotent")
            ),
        ]
    );
    let ends = events.iter().filter_map(Event::call_end).map(|end| {
        let failure = end.failure.map(|failure| failure.code.as_str());
        let outcome = (failure, end.is_success(), end.is_denied());
        let has = (end.output.is_some(), end.whole.is_some());
        (end.tool, end.node, outcome, has, end.rule)
    });
    let (tool, node) = (Some("write_file"), Some("write"));
    let failed = (Some("tool-error"), false, false);
    assert_eq!(
        ends.collect::<Vec<_>>(),
        [
            (
                tool,
                None,
                (None, false, true),
                (true, true),
                Some("effect.effectful")
            ),
            (tool, node, failed, (true, true), Some("rule.no")),
            // An attempt that another one follows.
            (None, node, failed, (false, false), None),
        ]
    );
}

/// Sessions of programs with earlier versions stay readable: each new field has a default.
#[test]
fn event_of_an_earlier_version_is_read() {
    let earlier = [
        (1, include_str!("golden_1.jsonl")),
        (2, include_str!("golden_2.jsonl")),
        (3, include_str!("golden_3.jsonl")),
        (4, include_str!("golden_4.jsonl")),
        (5, include_str!("golden_5.jsonl")),
        (6, include_str!("golden_6.jsonl")),
        (7, include_str!("golden_7.jsonl")),
        (8, include_str!("golden_8.jsonl")),
        (9, include_str!("golden_9.jsonl")),
        (10, include_str!("golden_10.jsonl")),
        (11, include_str!("golden_11.jsonl")),
        (12, include_str!("golden_12.jsonl")),
    ];
    for (version, lines) in earlier {
        for line in lines.lines() {
            let read = Event::from_stored(version, line.as_bytes());
            assert!(read.is_ok(), "{version}: {read:?}: {line}");
        }
    }
}

/// Version 8 added a kind, and the fields of the requests in an audit, whose text has all of them.
#[test]
fn event_of_version_7_equals_that_of_version_8() {
    let before = include_str!("golden_7.jsonl");
    let is_known = |line: &&str| !line.contains(r#""kind":"key-taken""#);
    let now: Vec<&str> = include_str!("golden_8.jsonl")
        .lines()
        .filter(is_known)
        .collect();
    assert_eq!(before.lines().count(), now.len());
    for (before, now) in before.lines().zip(now) {
        let before = Event::from_stored(7, before.as_bytes()).unwrap();
        let now = Event::from_stored(8, now.as_bytes()).unwrap();
        assert_eq!(before, now);
    }
}

/// An unreadable event is refused; nothing of it is guessed.
#[test]
fn unreadable_event_is_refused_with_the_reason() {
    let cases = [
        (
            json!({"kind": "state-merged", "call_id": "c", "delta": [1]}),
            "does not match its format (invalid type: sequence, expected a map)",
        ),
        (
            json!({"kind": "turn-ended", "outcome": {
                "type": "awaiting-confirmation", "summary": report(TurnEnd::Cancelled).summary, "continuation": 7,
            }}),
            "does not match its format (invalid type: integer `7`, expected struct Continuation)",
        ),
        (
            json!({"kind": "call-settled", "accounting": "none"}),
            "does not match its format (invalid type: string \"none\", expected struct \
             Accounting)",
        ),
        (
            json!("turn-ended"),
            "does not match its format (invalid type: string \"turn-ended\", expected \
             internally tagged enum Event at line 1 column 12)",
        ),
        (
            json!({"kind": "approval-requested", "request": "r", "turn": 1, "calls": []}),
            "does not match its format (missing field `index`)",
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
            "has version {}, and this program reads versions up to {EVENT_VERSION}; use the version of agent-host \
             that wrote it, probably a newer one",
            EVENT_VERSION + 1
        )
    );
    assert!(matches!(
        Event::from_stored(0, b"nothing"),
        Err(EventError::Form(_))
    ));
}
