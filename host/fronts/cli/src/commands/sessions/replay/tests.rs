use super::*;
use agent_host_engine::policy::RuleDecision;
use agent_host_types::id::CallId;
use pretty_assertions::assert_eq;

fn session() -> SessionId {
    "0198a000-0000-7000-8000-000000000001".parse().unwrap()
}

/// Values come from models and tools: long ones are cut, and none moves the cursor.
#[test]
fn difference_is_shown_escaped_and_bounded() {
    let difference = Difference {
        session: session(),
        seq: 7,
        field: "/output/\u{1b}[2J".into(),
        recorded: Some(json!(
            "a\u{1b}[31m".to_owned() + &"b".repeat(2 * SHOWN_BYTES)
        )),
        replayed: None,
        reason: Some("the session\nis empty".into()),
    };
    let text = text_of(&difference);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 5, "{text}");
    assert_eq!(
        lines[0],
        "event 7 of session 0198a000-0000-7000-8000-000000000001 differs"
    );
    assert_eq!(lines[3], "replayed  nothing");
    assert!(lines[2].len() < SHOWN_BYTES + 100, "{text}");
    assert!(!text.contains('\u{1b}'), "{text:?}");
    let whole = Difference {
        field: String::new(),
        reason: None,
        ..difference
    };
    assert_eq!(
        text_of(&whole).lines().nth(1),
        Some("field     the whole event")
    );
}

#[test]
fn decided_call_is_one_escaped_line() {
    let decision = |decision, rule: &str| CallDecision {
        decision,
        rule: rule.into(),
    };
    let call = DecidedCall {
        session: session(),
        seq: 3,
        call_id: CallId("c\n1".into()),
        tool: "write_file".into(),
        agent: Some("writer".into()),
        recorded: decision(RuleDecision::Ask, "effect.effectful"),
        now: decision(RuleDecision::Deny, "rule.no"),
        change: Change::Stricter,
    };
    assert_eq!(
        line_of(&call),
        "stricter  event 3 write_file c 1 of agent writer: ask (effect.effectful) -> deny (rule.no)"
    );
}
