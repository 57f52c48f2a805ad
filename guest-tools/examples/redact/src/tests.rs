use super::*;
use agent_tool::{Effect, Part};
use pretty_assertions::assert_eq;
use serde_json::json;

const KEY: &str = "sk-0123456789abcdef";

fn call(input: &Value) -> RequestedCall {
    RequestedCall {
        id: "call-1".to_owned(),
        tool: "search".to_owned(),
        input: input.as_object().cloned().unwrap_or_default(),
        idempotency_key: "key".to_owned(),
    }
}

#[test]
fn keys_in_every_kind_of_result_are_redacted() {
    let table = [
        (
            Output::text(format!("key={KEY}, sk-short")),
            Output::text("key=[key], sk-short"),
        ),
        (
            Output::json(&json!({ "a": [KEY, 1], KEY: null })),
            Output::json(&json!({ "a": ["[key]", 1], "[key]": null })),
        ),
        (Output::error(KEY), Output::error("[key]")),
        (
            Output::error_json(&json!(KEY)),
            Output::error_json(&json!("[key]")),
        ),
        (Output::denied(KEY), Output::denied("[key]")),
        (Output::Denied(None), Output::Denied(None)),
        (
            Output::content([
                Part::text(KEY),
                Part::text_file("text/csv", KEY).named(KEY),
                Part::bytes("application/x", KEY.into()),
            ]),
            Output::content([
                Part::text("[key]"),
                Part::text_file("text/csv", "[key]").named("[key]"),
                Part::bytes("application/x", KEY.into()),
            ]),
        ),
    ];
    for (output, expected) in table {
        let input = json!({ "query": "sk-short" });
        let redacted = Redact::call(call(&input), |passed| {
            assert_eq!(passed, call(&input));
            output.clone()
        });
        assert_eq!(redacted, expected);
    }
}

#[test]
fn arguments_with_a_key_are_refused_without_a_call() {
    for input in [
        json!({ "query": format!("use {KEY}") }),
        json!({ "deep": [{ KEY: 1 }] }),
    ] {
        let refused = Redact::call(call(&input), |_| unreachable!("the tool is not called"));
        let reason = "the arguments have an API key; call again without it";
        assert_eq!(refused, Output::denied(reason), "{input}");
    }
}

#[test]
fn definitions_say_that_results_are_redacted() {
    let definition = |description: &str| Definition {
        name: "search".to_owned(),
        title: None,
        description: description.to_owned(),
        input_schema: json!({ "type": "object" }),
        output_schema: None,
        effect: Effect::ReadOnly,
    };
    let described = Redact::definitions(vec![definition("Searches.")]);
    let expected = definition("Searches. API keys are removed from results.");
    assert_eq!(described, [expected]);
}
