//! Calls of a session that become no case, with the reason.

use super::{asked, call, cases, id, intended, object, settled, text};
use crate::test::{SkippedCall, WrittenCases};
use agent_host_types::{
    custom_context::CustomContext,
    event::Event,
    failure::{ToolErrorCode, ToolFailure},
    hook::{HookPoint, HookVerdict, VerdictKind},
    id::Digest,
    output::{BlobRef, ToolResultOutput},
};
use pretty_assertions::assert_eq;
use serde_json::json;

/// A kind of call that depends on more than its input, with the reason.
type Row = (&'static str, Vec<Event>);

fn calls_by_their_end() -> Vec<Row> {
    let output = |output: ToolResultOutput| call("c", json!({}), output).to_vec();
    let failed = |code| output(ToolFailure::new(code, "It ended.").into());
    let changed = |change: fn(&mut Event)| {
        let mut events = output(text("a"));
        change(&mut events[1]);
        events
    };
    vec![
        ("it has no result", vec![intended("c", "say", json!({}))]),
        ("it did not run", vec![settled("c", "say", text("a"), &[])]),
        (
            "it was denied by rule.1",
            changed(|event| {
                if let Event::CallSettled { rule, .. } = event {
                    *rule = Some("rule.1".to_owned());
                }
            }),
        ),
        (
            "its result is too long; write a case with `golden`, and run `--update`",
            changed(|event| {
                if let Event::CallSettled { whole, .. } = event {
                    *whole = Some(BlobRef {
                        digest: Digest::of(b""),
                        size: 1,
                    });
                }
            }),
        ),
        (
            "it used more than its input: `GET https://example.com/`; write a case with grants, files or a recording",
            vec![
                intended("c", "say", json!({})),
                settled(
                    "c",
                    "say",
                    text("a"),
                    &["GET https://example.com/", "read /a"],
                ),
            ],
        ),
        (
            "it may or may not have taken effect",
            failed(ToolErrorCode::InterruptedUnknown),
        ),
        (
            "it ended with `timeout`, which depends on more than its input",
            failed(ToolErrorCode::Timeout),
        ),
    ]
}

fn calls_that_had_more_than_input() -> Vec<Row> {
    let output = |output: ToolResultOutput| call("c", json!({}), output).to_vec();
    let with = |event: Event| {
        vec![
            intended("c", "say", json!({})),
            event,
            settled("c", "say", text("a"), &[]),
        ]
    };
    let hooked = Event::HookDecided {
        call_id: Some(id("c")),
        verdict: HookVerdict {
            hook: "guard".to_owned(),
            point: HookPoint::AfterTool,
            verdict: VerdictKind::Modify,
            reason: None,
        },
    };
    let context = CustomContext::try_from(object(json!({"user": "ann"}))).unwrap();
    let mut in_context = vec![Event::ContextSet { context }];
    in_context.extend(output(text("a")));
    let state = Event::StateMerged {
        call_id: id("other"),
        delta: object(json!({ "long": "x".repeat(20_000) })),
        labels: Vec::new(),
    };
    let mut with_state = vec![state];
    with_state.extend(output(text("a")));
    vec![
        ("a hook decided on its result", with(hooked)),
        (
            "one of its questions has no answer",
            with(asked("c", "Who?")),
        ),
        (
            "the session has a context, which is not copied and which the tools may read",
            in_context,
        ),
        (
            "the state of the session was larger than 16384 bytes",
            with_state,
        ),
        (
            "it has a secret, which the journal redacted",
            output(text("key: [secret:github]")),
        ),
        (
            "it contains a directory of this machine",
            output(text("in /home/ann/weather/a.txt")),
        ),
        (
            "it contains a directory of this machine",
            call("c", json!({ "/home/ann/a": [{}] }), text("a")).to_vec(),
        ),
        (
            "its case would be larger than 131072 bytes",
            call("c", json!({ "text": "x".repeat(140_000) }), text("a")).to_vec(),
        ),
    ]
}

#[test]
fn call_that_depends_on_more_than_its_input_is_skipped() {
    let rows = calls_by_their_end().into_iter();
    for (reason, events) in rows.chain(calls_that_had_more_than_input()) {
        assert_eq!(
            cases(events),
            WrittenCases {
                text: String::new(),
                cases: 0,
                skipped: vec![SkippedCall {
                    call: id("c"),
                    tool: "say".to_owned(),
                    reason: reason.to_owned(),
                }],
            }
        );
    }
}
