use super::*;
use pretty_assertions::assert_eq;
use serde_json::json;

fn call(input: &Value) -> RequestedCall {
    RequestedCall {
        id: "call-1".to_owned(),
        tool: "read_file".to_owned(),
        input: input.as_object().cloned().unwrap_or_default(),
        idempotency_key: "key".to_owned(),
    }
}

#[test]
fn call_is_judged_by_its_paths() {
    let blocked = || CallVerdict::Block("files with keys are no matter of the model".to_owned());
    let table = [
        (json!({ "path": "notes/a.txt" }), CallVerdict::Pass),
        (json!({ "path": "notes/.ENV" }), blocked()),
        (json!({ "source_path": "../server.pem" }), blocked()),
        (json!({ "path": "a/../../b" }), CallVerdict::Ask),
        (json!({ "text": "../.env" }), CallVerdict::Pass),
        (json!({ "path": 7 }), CallVerdict::Pass),
    ];
    for (input, expected) in table {
        assert_eq!(Guard::before_tool(call(&input)), expected, "{input}");
    }
}

#[test]
fn addresses_are_masked_and_the_rest_stays() {
    let table = [
        ("no address @ all", None),
        ("write to ann@example.com, please", Some("write to [address] please")),
        ("(bob@example.org)\n\tx", Some("[address]\n\tx")),
        ("a@b", None),
    ];
    for (text, expected) in table {
        let expected = match expected {
            Some(text) => ResultVerdict::Modify(Output::text(text)),
            None => ResultVerdict::Pass,
        };
        let judged = Guard::after_tool(call(&json!({})), Output::text(text));
        assert_eq!(judged, expected, "{text}");
    }
}
