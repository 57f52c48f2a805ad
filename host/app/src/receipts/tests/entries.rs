//! The receipts of a session's events.

use super::{KEY, export, key, received, session, settled, stored, verify};
use agent_host_types::{accounting::Accounting, id::Digest, model::Usage};
use pretty_assertions::assert_eq;
use serde_json::{Map, Value, json};

/// A call that waits for approval.
fn pending(call: &str, input: &Value) -> Value {
    json!({ "call_id": call, "tool": "write_file", "effect": "effectful", "input": input,
            "input_digest": Digest::of(b""), "rule": "effect.effectful", "decisions": ["approve", "reject"] })
}

fn intended(call: &str, input: &Value, rule: &str) -> Value {
    json!({ "kind": "call-intended", "call_id": call, "tool": "say", "input": input,
            "input_digest": Digest::of(b""), "effect": "read-only", "idempotency_key": "k", "rule": rule })
}

fn text(value: &str) -> Value {
    json!({ "type": "text", "value": value })
}

/// The receipts without the fields that place them, which all have, and with their contents.
async fn receipts(events: Vec<Value>) -> Vec<Value> {
    let lines = export(&stored(events, Vec::new()).await, &key(KEY), false).await;
    verify(&lines).unwrap();
    let receipts = lines[..lines.len() - 1].iter().map(|line| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        let contents = line["contents"].as_object().cloned().unwrap_or_default();
        let mut receipt = line["receipt"].take();
        let fields = receipt.as_object_mut().unwrap();
        let placed = [
            "version",
            "key",
            "session",
            "number",
            "previous",
            "commitments",
        ];
        for name in placed {
            fields.remove(name).unwrap();
        }
        let contents = contents.into_iter().map(|(name, content)| {
            let text = serde_json::from_str(content["text"].as_str().unwrap()).unwrap();
            (name, text)
        });
        fields.insert(
            "contents".to_owned(),
            contents.collect::<Map<_, _>>().into(),
        );
        receipt
    });
    receipts.collect()
}

#[tokio::test]
async fn decision_and_its_call_have_receipts() {
    let (asked, edited) = (json!({ "path": "a" }), json!({ "path": "b" }));
    let calls = [pending("c1", &asked), pending("c2", &asked)];
    let events = vec![
        json!({ "kind": "session-started", "program": "p", "client": "Editor 1" }),
        json!({ "kind": "input-received", "message": { "role": "user", "content": [] }, "by": "ann" }),
        json!({ "kind": "approval-requested", "request": "r", "turn": 1, "index": 0, "calls": calls }),
        json!({ "kind": "decision-recorded", "request": "r", "by": "bob", "decisions": [
            { "type": "edit", "call_id": "c1", "input": edited },
            { "type": "reject", "call_id": "c2", "reason": "no" },
        ] }),
        intended("c1", &edited, "effect.effectful"),
        settled("c1", &text("done")),
        received("c2", &asked),
        settled("c2", &json!({ "type": "execution-denied", "reason": "no" })),
    ];
    let decision = |call: &str, ruling: &str, decision: &Value, shown: &Value| {
        json!({ "kind": "decision", "position": 3, "at_ms": 1_003, "call_id": call, "tool": "write_file",
                "who": "sender:bob", "ruling": ruling, "rule": "effect.effectful",
                "contents": { "decision": decision, "shown": shown } })
    };
    let call = |call: &str, position: u64, outcome: &str, arguments: &Value, output: &Value| {
        json!({ "kind": "call", "position": position, "at_ms": 1_000 + position, "call_id": call, "tool": "say",
                "who": "client:Editor 1", "sender": "ann", "ruling": "ask", "rule": "effect.effectful",
                "outcome": outcome, "contents": { "arguments": arguments, "result": { "output": output } } })
    };
    let denied = json!({ "type": "execution-denied", "reason": "no" });
    let expected = [
        decision(
            "c1",
            "edit",
            &json!({ "type": "edit", "call_id": "c1", "input": edited }),
            &calls[0],
        ),
        decision(
            "c2",
            "reject",
            &json!({ "type": "reject", "call_id": "c2", "reason": "no" }),
            &calls[1],
        ),
        call("c1", 5, "text", &edited, &text("done")),
        call("c2", 7, "execution-denied", &asked, &denied),
    ];
    assert_eq!(receipts(events).await, expected);
}

/// The events before a copy may come from a file that anyone wrote.
#[tokio::test]
async fn copied_events_have_no_receipts() {
    let mut denied = settled("b", &json!({ "type": "execution-denied" }));
    denied["rule"] = json!("rule.no");
    let audit = json!([{ "request": "GET http://a.example/", "operation": { "kind": "http", "method": "GET", "url": "http://a.example/" }, "verdict": "denied", "rule": "default-deny", "count": 1 }]);
    denied["audit"] = audit.clone();
    let events = vec![
        received("a", &json!({})),
        settled("a", &text("forged")),
        received("b", &json!({ "x": 1 })),
        json!({ "kind": "session-forked", "from": session(), "at": 2 }),
        denied,
    ];
    let expected = json!({ "kind": "call", "position": 4, "at_ms": 1_004, "call_id": "b", "tool": "say",
                           "ruling": "deny", "rule": "rule.no", "outcome": "execution-denied",
                           "contents": { "arguments": { "x": 1 }, "audit": audit,
                                         "result": { "output": { "type": "execution-denied" } } } });
    assert_eq!(receipts(events).await, [expected]);
}

/// The callers that are no model, the host that decides on an expired request, and an agent.
#[tokio::test]
async fn receipt_names_the_caller_and_the_decider() {
    let mut by_agent = settled("p1", &text("found"));
    by_agent["child"] = json!({ "agent": "clerk", "session": session(), "turns": 1, "tool_calls": 0,
                                "usage": Usage::default() });
    let events = vec![
        json!({ "kind": "program-called", "calls": [
            { "id": "p1", "name": "say", "input": { "q": 1 }, "raw_arguments": "" } ] }),
        by_agent,
        json!({ "kind": "approval-requested", "request": "r", "turn": 1, "index": 0,
                "calls": [pending("c1", &json!({}))] }),
        json!({ "kind": "decision-recorded", "request": "r", "by": "expiry",
                "decisions": [{ "type": "reject", "call_id": "c1" }] }),
        json!({ "kind": "node-intended", "call_id": "n1", "node": "first", "attempt": 1, "tool": "sum",
                "input_digest": Digest::of(b""), "effect": "read-only" }),
        json!({ "kind": "node-retried", "call_id": "n1", "node": "first", "attempt": 1,
                "failure": { "code": "trap", "message": "no" }, "accounting": Accounting::default() }),
        json!({ "kind": "node-settled", "call_id": "n1", "node": "first", "tool": "sum",
                "output": { "node_id": "first", "text": "4" }, "accounting": Accounting::default() }),
    ];
    let receipts = receipts(events).await;
    let told = receipts.iter().map(|receipt| {
        let fields = ["position", "who", "ruling", "outcome", "agent"];
        json!(fields.map(|name| receipt[name].clone()))
    });
    let expected = [
        json!([1, "program", null, "text", session()]),
        json!([3, "host:expiry", "reject", null, null]),
        json!([6, "node:first", "allow", "text", null]),
    ];
    assert_eq!(told.collect::<Vec<_>>(), expected);
    let result = json!({ "output": { "node_id": "first", "text": "4" } });
    assert_eq!(receipts[0]["contents"]["arguments"], json!({ "q": 1 }));
    assert_eq!(receipts[2]["contents"], json!({ "result": result }));
}
