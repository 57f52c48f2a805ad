use super::*;
use agent_tool::Part;
use pretty_assertions::assert_eq;
use serde_json::json;

fn call(input: &Value) -> RequestedCall {
    RequestedCall {
        id: "call-1".to_owned(),
        tool: "write_file".to_owned(),
        input: input.as_object().cloned().unwrap_or_default(),
        idempotency_key: "key".to_owned(),
    }
}

#[test]
fn request_with_a_private_key_is_blocked() {
    let request = |text: &str| ModelRequest {
        system: None,
        messages: json!([{ "role": "user", "content": [{ "type": "text", "text": text }] }]),
        tools: vec!["write_file".to_owned()],
    };
    let key = request("-----BEGIN RSA PRIVATE KEY-----\nMIIEow");
    let reason = "the conversation has a private key; start a new session without it";
    assert_eq!(
        Guard::before_model(key),
        RequestVerdict::Block(reason.to_owned())
    );
    let public = request("-----BEGIN PUBLIC KEY-----\nMIIBIj");
    assert_eq!(Guard::before_model(public), RequestVerdict::Pass);
}

#[test]
fn call_is_judged_by_its_paths_and_texts() {
    let blocked = || {
        let reason = "files with keys are neither read nor written here; continue without them";
        CallVerdict::Block(reason.to_owned())
    };
    let modified = |input: Value| CallVerdict::Modify(call(&input).input);
    let table = [
        (json!({ "path": "notes/a.txt" }), CallVerdict::Pass),
        (json!({ "path": "notes/.ENV" }), blocked()),
        (json!({ "source_path": "../server.pem" }), blocked()),
        (json!({ "path": "a/../../b" }), CallVerdict::Ask),
        (
            json!({ "path": "../b", "content": "ann@example.com" }),
            CallVerdict::Ask,
        ),
        (
            json!({ "text": "../.env ann@example.com" }),
            CallVerdict::Pass,
        ),
        (json!({ "path": 7 }), CallVerdict::Pass),
        (
            json!({ "path": "b", "content": "to ann@example.com" }),
            modified(json!({ "path": "b", "content": "to [address]" })),
        ),
        (
            json!({ "url": "https://a.example", "body": { "to": ["ann@example.com", 1] } }),
            modified(json!({ "url": "https://a.example", "body": { "to": ["[address]", 1] } })),
        ),
    ];
    for (input, expected) in table {
        assert_eq!(Guard::before_tool(call(&input)), expected, "{input}");
    }
}

#[test]
fn addresses_are_masked_and_the_rest_stays() {
    let table = [
        ("no address @ all", None),
        (
            "write to ann@example.com, please",
            Some("write to [address], please"),
        ),
        ("(bob@example.org)\n\tx", Some("([address])\n\tx")),
        ("a@b", None),
        ("", None),
    ];
    for (text, expected) in table {
        let (reply, result) = match expected {
            Some(text) => (
                ReplyVerdict::Modify(text.to_owned()),
                ResultVerdict::Modify(Output::text(text)),
            ),
            None => (ReplyVerdict::Pass, ResultVerdict::Pass),
        };
        let said = ModelReply {
            text: text.to_owned(),
            calls: json!([]),
        };
        assert_eq!(Guard::after_model(said), reply, "{text}");
        let judged = Guard::after_tool(call(&json!({})), Output::text(text));
        assert_eq!(judged, result, "{text}");
    }
}

#[test]
fn every_kind_of_result_is_masked() {
    let address = "ann@example.com";
    let file = || Part::text_file("text/csv", address);
    let table = [
        (
            Output::json(&json!({ "to": [address, address] })),
            Some(Output::json(&json!({ "to": ["[address]", "[address]"] }))),
        ),
        (
            Output::content([Part::text(address), file()]),
            Some(Output::content([Part::text("[address]"), file()])),
        ),
        (Output::error(address), Some(Output::error("[address]"))),
        (
            Output::error_json(&json!(address)),
            Some(Output::error_json(&json!("[address]"))),
        ),
        (Output::denied(address), None),
        (Output::content([file()]), None),
    ];
    for (output, masked) in table {
        let expected = masked.map_or(ResultVerdict::Pass, ResultVerdict::Modify);
        let judged = Guard::after_tool(call(&json!({})), output.clone());
        assert_eq!(judged, expected, "{output:?}");
    }
}
