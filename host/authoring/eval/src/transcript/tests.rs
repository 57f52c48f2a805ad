use super::*;
use pretty_assertions::assert_eq;
use serde_json::json;

const SESSION: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

fn record(event: &Value) -> Value {
    json!({ "v": 7, "session": SESSION, "seq": 0, "at_ms": 0, "event": event })
}

fn replied(calls: &Value, usage: &Value) -> Value {
    record(&json!({
        "kind": "model-replied", "turn": 1, "duration_ms": 1,
        "reply": {
            "text": "", "tool_calls": calls, "usage": usage,
            "provenance": { "provider": "p", "model": "m" },
        },
    }))
}

fn settled(id: &str, output: &Value, audit: &Value) -> Value {
    record(&json!({
        "kind": "call-settled", "call_id": id, "tool": "read_file", "output": output,
        "accounting": { "wall_us": 1, "peak_memory_bytes": 0, "bytes_in": 0, "bytes_out": 0 },
        "audit": audit,
    }))
}

fn ended(end: &Value) -> Value {
    let usage = json!({ "input_tokens": 0, "output_tokens": 0 });
    let mut outcome = json!({ "summary": {
        "session": SESSION, "turn": 1, "total_turns": 1, "turn_usage": usage, "total_usage": usage,
        "provenance": { "provider": "p", "model": "m" }, "tool_calls": 0, "duration_ms": 1,
        "tool_runtime": "host",
    } });
    let members = end.as_object().unwrap().clone();
    outcome.as_object_mut().unwrap().extend(members);
    record(&json!({ "kind": "turn-ended", "outcome": outcome }))
}

fn read(lines: &[Value]) -> Result<Transcript, TranscriptError> {
    let mut transcript = Transcript::default();
    for line in lines {
        transcript.line(line.to_string().as_bytes())?;
    }
    Ok(transcript)
}

fn call(id: &str, input: &Value) -> Value {
    json!({ "id": id, "name": "read_file", "input": input, "raw_arguments": input.to_string() })
}

#[test]
fn calls_answer_and_figures_of_a_run_are_read() {
    let usage = json!({ "input_tokens": 11, "output_tokens": 7, "cost_micros": 100 });
    let mut of_agent = ended(&json!({ "type": "done", "text": "not for the user" }));
    of_agent["path"] = json!(["call_9"]);
    let transcript = read(&[
        json!({ "live": "session", "version": 1, "session": SESSION, "program": "0.1.0" }),
        replied(
            &json!([
                call("a", &json!({ "path": "a.txt" })),
                call("b", &json!({ "path": "/" }))
            ]),
            &usage,
        ),
        settled(
            "a",
            &json!({ "type": "text", "value": "alpha" }),
            &json!([]),
        ),
        settled(
            "b",
            &json!({ "type": "execution-denied", "reason": "no" }),
            &json!([]),
        ),
        replied(&json!([]), &usage),
        ended(&json!({ "type": "done", "text": "It is alpha." })),
        of_agent,
    ])
    .unwrap();
    let input = |path: &str| Map::from_iter([("path".to_owned(), json!(path))]).into();
    assert_eq!(
        transcript.calls,
        [
            Call {
                tool: "read_file".to_owned(),
                input: input("a.txt"),
                outcome: "text",
                result: "alpha".to_owned(),
            },
            Call {
                tool: "read_file".to_owned(),
                input: input("/"),
                outcome: "execution-denied",
                result: "no".to_owned(),
            },
        ]
    );
    assert_eq!(transcript.answer.as_deref(), Some("It is alpha."));
    assert_eq!(transcript.denials, ["the call of read_file was denied: no"]);
    assert_eq!(
        transcript.figures,
        Figures {
            turns: 2,
            tool_calls: 2,
            input_tokens: 22,
            output_tokens: 14,
            cost_micros: Some(200),
            duration_ms: 0,
        }
    );
}

#[test]
fn denial_without_a_reason_reads_as_a_sentence() {
    let denied = json!({ "type": "execution-denied" });
    let transcript = read(&[settled("a", &denied, &json!([]))]).unwrap();
    assert_eq!(transcript.calls[0].result, "Tool call execution denied.");
    assert_eq!(
        transcript.denials,
        ["the call of read_file was denied: Tool call execution denied."]
    );
}

#[test]
fn denied_request_of_a_call_is_a_denial() {
    let audit = json!([
        { "request": "GET http://a/", "verdict": "allowed", "rule": "r", "count": 1 },
        { "request": "GET http://b/", "verdict": "denied", "rule": "default-deny", "count": 2 },
    ]);
    let text = json!({ "type": "text", "value": "x" });
    let transcript = read(&[settled("a", &text, &audit)]).unwrap();
    assert_eq!(
        transcript.denials,
        ["read_file was denied `GET http://b/` by default-deny"]
    );
}

#[test]
fn cost_is_unknown_where_a_price_is() {
    let priced = json!({ "input_tokens": 1, "output_tokens": 1, "cost_micros": 1 });
    let unpriced = json!({ "input_tokens": 1, "output_tokens": 1 });
    let none = json!({ "input_tokens": 0, "output_tokens": 0 });
    for (usages, cost) in [
        (vec![&none], Some(0)),
        (vec![&priced, &none], Some(1)),
        (vec![&priced, &unpriced], None),
    ] {
        let lines: Vec<Value> = usages
            .iter()
            .map(|usage| replied(&json!([]), usage))
            .collect();
        assert_eq!(
            read(&lines).unwrap().figures.cost_micros,
            cost,
            "{usages:?}"
        );
    }
}

#[test]
fn replies_without_a_cost_are_priced_later() {
    let usage = json!({ "input_tokens": 1_000_000, "output_tokens": 0 });
    let mut transcript = read(&[replied(&json!([]), &usage)]).unwrap();
    assert_eq!(transcript.figures.cost_micros, None);
    transcript.price(|_| None);
    assert_eq!(transcript.figures.cost_micros, None);
    let price: Price = serde_json::from_value(json!({
        "tokens": {
            "input_micros": 2_000_000, "cached_input_micros": 0, "cache_write_micros": 0,
            "output_micros": 3_000_000,
        },
        "long_context": null,
    }))
    .unwrap();
    let of = |model: &Provenance| (model.model == "m").then_some(price);
    transcript.price(of);
    assert_eq!(transcript.figures.cost_micros, Some(2_000_000));
}

#[test]
fn ends_without_an_answer_say_why() {
    for (end, problem) in [
        (
            json!({ "type": "refusal", "text": "I will not." }),
            "the model refused: I will not.",
        ),
        (
            json!({ "type": "budget-exceeded", "budget": { "name": "turns", "limit": 3 } }),
            "the budget of turns is used up",
        ),
        (json!({ "type": "cancelled" }), "it ended with `cancelled`"),
    ] {
        let transcript = read(&[ended(&end)]).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(
            (transcript.answer, transcript.problem.as_deref()),
            (None, Some(problem))
        );
    }
    let halted = json!({ "type": "halted", "message": "Stop." });
    assert_eq!(
        read(&[ended(&halted)]).unwrap().answer.as_deref(),
        Some("Stop.")
    );
    let typed = json!({ "type": "done", "text": "[1]", "output": [1] });
    assert_eq!(
        read(&[ended(&typed)]).unwrap().answer.as_deref(),
        Some("[1]")
    );
}

#[test]
fn hostile_lines_are_errors() {
    let mut transcript = Transcript::default();
    for (line, expected) in [
        ("", "is not valid `stream-json`"),
        ("{", "is not valid `stream-json`"),
        ("[]", "is not valid `stream-json`"),
        ("{}", "is not an event, and has no `live` key"),
        (
            "{\"event\": {\"kind\": \"unheard-of\"}}",
            "is not valid `stream-json`",
        ),
    ] {
        let error = transcript.line(line.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(expected), "{line}: {error}");
    }
    let text = "x".repeat(MAX_KEPT_BYTES / 2);
    let long = settled("a", &json!({ "type": "text", "value": text }), &json!([]));
    assert!(read(std::slice::from_ref(&long)).is_ok());
    assert!(matches!(
        read(&[long.clone(), long]),
        Err(TranscriptError::TooMuch)
    ));
}
