use super::*;
use agent_host_types::{
    accounting::Accounting, event::Event, id::Digest, message::Role, model::ModelReply,
    output::ToolResultOutput,
};
use pretty_assertions::assert_eq;
use serde_json::Map;

fn replied(ids: &[&str], stop_reason: Option<StopReason>) -> Event {
    let call = |id: &&str| ToolCall::parse(CallId((*id).into()), "t".into(), String::new());
    Event::ModelReplied {
        turn: 1,
        reply: ModelReply {
            tool_calls: ids.iter().map(call).collect(),
            stop_reason,
            usage: Usage {
                input_tokens: u64::MAX,
                output_tokens: 1,
                cached_input_tokens: 0,
                cache_write_tokens: 0,
                cost_micros: None,
            },
            ..ModelReply::default()
        },
        discarded: Usage::default(),
        duration_ms: 1,
        tape: None,
    }
}

fn requested() -> Event {
    Event::ModelRequested {
        turn: 1,
        provenance: Provenance {
            provider: "p".into(),
            model: "m".into(),
        },
        messages: 1,
        tools: 1,
        estimated_tokens: 0,
        request_digest: Digest::of(b"request"),
        system: None,
    }
}

fn settled(id: &str, output: &str) -> Event {
    Event::CallSettled {
        call_id: CallId(id.into()),
        tool: "t".into(),
        output: ToolResultOutput::Text(output.into()),
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

fn fold(events: &[Event]) -> SessionState {
    let mut state = SessionState::default();
    for event in events {
        state.apply(event);
    }
    state
}

/// Results enter the conversation together after the last one, in the order of the calls.
#[test]
fn batch_closes_after_its_last_result() {
    let mut state = fold(&[
        requested(),
        replied(&["a", "b"], Some(StopReason::ToolUse)),
        settled("b", "2"),
    ]);
    assert_eq!((state.batch().len(), state.messages().len()), (2, 1));
    state.apply(&settled("a", "1"));
    assert_eq!(state.batch(), []);
    let results = &state.messages()[1];
    let answered: Vec<(&str, &ToolResultOutput)> = results
        .tool_results
        .iter()
        .map(|result| (result.call_id.0.as_str(), &result.output))
        .collect();
    let (one, two) = (
        ToolResultOutput::Text("1".into()),
        ToolResultOutput::Text("2".into()),
    );
    assert_eq!(
        (results.role, answered),
        (Role::ToolResult, vec![("a", &one), ("b", &two)])
    );
}

/// Events about calls that are not open change nothing.
#[test]
fn result_of_no_open_call_is_ignored() {
    let settled_twice = [
        requested(),
        replied(&["a"], None),
        settled("a", "1"),
        settled("a", "2"),
    ];
    assert_eq!(fold(&settled_twice), fold(&settled_twice[..3]));
    assert_eq!(fold(&[settled("a", "1")]), SessionState::default());
    let unknown = [requested(), replied(&["a"], None), settled("x", "1")];
    assert_eq!(fold(&unknown), fold(&unknown[..2]));
    let intended = Event::CallIntended {
        call_id: CallId("x".into()),
        tool: "t".into(),
        input: Map::new().into(),
        input_digest: Digest::of(b"{}"),
        effect: Effect::Effectful,
        idempotency_key: "k".into(),
        rule: None,
        path: Vec::new(),
    };
    assert_eq!(fold(&[intended]), SessionState::default());
}

#[test]
fn turns_and_tokens_are_counted() {
    let message = || Event::InputReceived {
        message: Message::text(Role::User, "hi"),
        labels: Vec::new(),
        by: None,
    };
    // The failed first request is a turn and not a reply.
    let mut state = fold(&[message(), requested(), requested(), replied(&[], None)]);
    assert_eq!((state.turns(), state.spent().turns), (2, 1));
    state.apply(&requested());
    state.apply(&replied(&[], None));
    assert_eq!((state.turns(), state.spent().turns), (3, 2));
    let usage = Usage {
        input_tokens: u64::MAX,
        output_tokens: 2,
        cached_input_tokens: 0,
        cache_write_tokens: 0,
        cost_micros: None,
    };
    assert_eq!(state.usage(), usage);
    state.apply(&message());
    assert_eq!((state.turns(), state.spent().turns), (3, 0));
}

#[test]
fn paused_reply_lasts_until_the_next_reply_or_message() {
    let paused = || replied(&[], Some(StopReason::PauseTurn));
    let message = Event::InputReceived {
        message: Message::text(Role::User, "hi"),
        labels: Vec::new(),
        by: None,
    };
    let cases = [
        (vec![requested(), paused()], true),
        (vec![requested(), paused(), requested()], true),
        (
            vec![requested(), paused(), requested(), replied(&[], None)],
            false,
        ),
        (vec![requested(), paused(), message], false),
    ];
    for (events, expected) in cases {
        assert_eq!(fold(&events).model_paused(), expected, "{events:?}");
    }
}

#[test]
fn request_is_open_until_decided_or_answered() {
    let asked = || Event::ApprovalRequested {
        request: "s/2".into(),
        turn: 1,
        index: 0,
        calls: Vec::new(),
        expires_at_ms: None,
    };
    let decision = Decision::approve(CallId("a".into()));
    let decided = || Event::DecisionRecorded {
        request: "s/2".into(),
        decisions: vec![decision.clone()],
        by: None,
    };
    let start = || vec![requested(), replied(&["a"], None), asked()];
    let state = fold(&start());
    let expected = OpenTurn {
        request: "s/2".into(),
        turn: 1,
        awaiting: Awaiting::Confirm {
            index: 0,
            calls: Vec::new(),
        },
        expires_at_ms: None,
    };
    assert_eq!(state.open.as_ref(), Some(&expected));
    let state = fold(&[start(), vec![decided()]].concat());
    assert_eq!(state.open.as_ref(), None);
    assert_eq!(state.batch()[0].decision, Some(decision.clone()));
    let state = fold(&[start(), vec![settled("a", "1")]].concat());
    assert_eq!(state.open.as_ref(), None);
    assert!(state.knows_call(&CallId("a".into())));
}
