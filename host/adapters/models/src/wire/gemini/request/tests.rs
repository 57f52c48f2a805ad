use super::*;
use crate::Provider;
use agent_host_types::{
    id::CallId,
    output::{FileData, FilePart},
};
use pretty_assertions::assert_eq;

/// The turns of a conversation, as they are sent to this model.
fn contents_for(model: &str, messages: Vec<Message>, capabilities: Capabilities) -> Value {
    let request = ModelRequest {
        system: None,
        messages,
        tools: vec![],
        answer_schema: None,
    };
    encode(model, &request, capabilities).body["contents"].take()
}

fn contents_of(messages: Vec<Message>) -> Value {
    contents_for("gemini-3-pro", messages, Provider::Gemini.capabilities())
}

fn result(output: ToolResultOutput) -> Message {
    Message::results(vec![ToolResult {
        call_id: CallId("c1".to_owned()),
        name: "read".to_owned(),
        output,
        whole: None,
    }])
}

fn calling(text: &str) -> Message {
    let call = |id: &str| ToolCall::parse(CallId(id.to_owned()), "read".to_owned(), String::new());
    Message {
        tool_calls: vec![call("c1"), call("c2")],
        ..Message::text(Role::Assistant, text)
    }
}

fn file(media_type: &str, data: FileData) -> ContentPart {
    ContentPart::File(FilePart {
        media_type: media_type.to_owned(),
        data,
        filename: None,
    })
}

fn png() -> ContentPart {
    file("image/png", FileData::Bytes(b"PNG!".to_vec()))
}

#[test]
fn roles_alternate_and_blocks_are_not_empty() {
    let text = |role, text: &str| Message::text(role, text);
    let user = |text: &str| json!({"role": "user", "parts": [{"text": text}]});
    let model = |text: &str| json!({"role": "model", "parts": [{"text": text}]});
    let begin = user("[the conversation continues]");
    for (name, messages, expected) in [
        ("nothing", vec![], json!([begin])),
        (
            "only blanks",
            vec![text(Role::User, " \n"), text(Role::Assistant, "")],
            json!([begin]),
        ),
        (
            "the model first",
            vec![text(Role::Assistant, "a"), text(Role::User, "b")],
            json!([begin, model("a"), user("b")]),
        ),
        (
            "a reply without text",
            vec![
                text(Role::User, "a"),
                text(Role::Assistant, ""),
                text(Role::System, "b"),
            ],
            json!([{"role": "user", "parts": [{"text": "a"}, {"text": "[from the operator]\nb"}]}]),
        ),
        (
            "results have a turn of their own",
            vec![
                result(ToolResultOutput::Text(String::new())),
                text(Role::User, "c"),
            ],
            json!([
                {"role": "user", "parts": [
                    {"functionResponse": {"id": "c1", "name": "read", "response": {"output": ""}}},
                ]},
                user("c"),
            ]),
        ),
    ] {
        assert_eq!(contents_of(messages), expected, "{name}");
    }
}

#[test]
fn requests_differ_by_generation() {
    for (model, expected) in [
        ("gemini-3-pro", true),
        ("models/gemini-3.1-flash-preview", true),
        ("gemini-12-pro", true),
        ("gemini-flash-latest", true),
        ("gemini-2.5-pro", false),
        ("gemini-1.5-flash-8b", false),
        ("gemma-3-27b-it", false),
        ("tunedModels/gemini-3", false),
    ] {
        assert_eq!(is_third_generation(model), expected, "{model}");
        let request = ModelRequest {
            system: None,
            messages: vec![Message::text(Role::User, "a")],
            tools: vec![],
            answer_schema: None,
        };
        let body = encode(model, &request, Provider::Gemini.capabilities()).body;
        let thinks = json!({"thinkingConfig": {"includeThoughts": true}});
        assert_eq!(
            body.get("generationConfig"),
            expected.then_some(&thinks),
            "{model}"
        );
    }
}

#[test]
fn signatures_are_sent_only_to_their_model() {
    let used = |id: &str| json!({"functionCall": {"id": id, "name": "read", "args": {}}});
    let with = |part: Value, signature: &str| signed(part, Some(signature));
    let spoken = json!({"text": "Grüße"});
    let unsigned = json!([
        spoken,
        with(used("c1"), "skip_thought_signature_validator"),
        used("c2")
    ]);
    for (name, model, asked, parts, expected) in [
        (
            "each in its place",
            "gemini-3-pro",
            "gemini-3-pro",
            json!([
                {"type": "thought", "text": "hm", "signature": "A"},
                {"type": "text", "bytes": 4, "signature": "B"},
                {"type": "text", "bytes": 3},
                {"type": "text", "bytes": 0, "signature": "C"},
                {"type": "call", "signature": "D"},
                {"type": "call"},
            ]),
            json!([
                {"text": "hm", "thought": true, "thoughtSignature": "A"},
                {"text": "Grü", "thoughtSignature": "B"},
                {"text": "ße"},
                {"text": "", "thoughtSignature": "C"},
                with(used("c1"), "D"),
                used("c2"),
            ]),
        ),
        (
            "less than there is",
            "gemini-2.5-pro",
            "gemini-2.5-pro",
            json!([{"type": "call", "signature": "D"}]),
            json!([with(used("c1"), "D"), spoken, used("c2")]),
        ),
        (
            "more than there is",
            "gemini-3-pro",
            "gemini-3-pro",
            json!([{"type": "text", "bytes": 99}, {"type": "call"}, {"type": "call"}, {"type": "call", "signature": "D"}]),
            json!([spoken, used("c1"), used("c2")]),
        ),
        (
            "another model",
            "gemini-3-pro",
            "gemini-3-flash",
            json!([{"type": "call", "signature": "D"}]),
            unsigned.clone(),
        ),
        (
            "a model that wants none",
            "gemini-3-pro",
            "gemini-2.5-flash",
            json!([{"type": "call", "signature": "D"}]),
            json!([spoken, used("c1"), used("c2")]),
        ),
        (
            "no known form",
            "gemini-3-pro",
            "gemini-3-pro",
            json!([{"type": "odd"}]),
            unsigned,
        ),
    ] {
        let metadata = json!({"gemini": {"model": model, "parts": parts}});
        let message = Message {
            metadata: metadata.as_object().unwrap().clone(),
            ..calling("Grüße")
        };
        let messages = vec![Message::text(Role::User, "a"), message];
        let contents = contents_for(asked, messages, Provider::Gemini.capabilities());
        assert_eq!(contents[1]["parts"], expected, "{name}");
    }
}

#[test]
fn values_that_the_wire_changes_become_text() {
    for (value, expected) in [
        (
            json!({"a": [1, -2.5, null, true]}),
            json!({"a": [1, -2.5, null, true]}),
        ),
        (json!(1_u64 << 53), json!(1_u64 << 53)),
        (json!((1_u64 << 53) + 1), json!("9007199254740993")),
        (json!([-(1_i64 << 53) - 1]), json!("[-9007199254740993]")),
        (json!({"a": {"$ref": "b"}}), json!(r#"{"a":{"$ref":"b"}}"#)),
    ] {
        for (output, key) in [
            (ToolResultOutput::json(value.clone()), "output"),
            (ToolResultOutput::error_json(value.clone()), "error"),
        ] {
            let contents = contents_of(vec![result(output)]);
            let response = &contents[0]["parts"][0]["functionResponse"]["response"];
            assert_eq!(*response, json!({key: expected}));
        }
    }
}

#[test]
fn file_position_depends_on_model() {
    let all = Provider::Gemini.capabilities();
    let image = json!({"inlineData": {"mimeType": "image/png", "data": "UE5HIQ=="}});
    let response = |line: &str, parts: Option<&Value>| {
        let mut response = json!({"id": "c1", "name": "read", "response": {"output": line}});
        if let Some(parts) = parts {
            response["parts"] = parts.clone();
        }
        json!({"functionResponse": response})
    };
    let name = json!({"text": "[file 1, from the result of `read`, call c1]"});
    let after = "[file 1: image/png, 4 bytes; it is in the user message after the tool results]";
    let at = "[file 1: image/webp, at https://a.example/b; it is in the user message after the tool results]";
    let address = json!({"fileData": {"mimeType": "image/webp", "fileUri": "https://a.example/b"}});
    let unseen = |what: &str| format!("[{what}; its content cannot be shown to this model]");
    let url = |url: &str| file("image/webp", FileData::Url(url.to_owned()));
    for (name_of_case, model, capabilities, part, expected) in [
        (
            "in the result",
            "gemini-3-pro",
            all,
            png(),
            json!([response(
                "[image/png, 4 bytes; it is part 1 of this result]",
                Some(&json!([image])),
            )]),
        ),
        (
            "an older model",
            "gemini-2.5-pro",
            all,
            png(),
            json!([response(after, None), name, image]),
        ),
        (
            "by configuration",
            "gemini-3-pro",
            Capabilities {
                files_in_results: false,
                ..all
            },
            png(),
            json!([response(after, None), name, image]),
        ),
        (
            "an address",
            "gemini-3-pro",
            all,
            url("https://a.example/b"),
            json!([response(at, None), name, address]),
        ),
        (
            "an address without TLS",
            "gemini-3-pro",
            all,
            url("http://a.example/b"),
            json!([response(&unseen("image/webp, at http://a.example/b"), None)]),
        ),
        (
            "a GIF",
            "gemini-3-pro",
            all,
            file("image/gif", FileData::Bytes(vec![1])),
            json!([response(&unseen("image/gif, 1 bytes"), None)]),
        ),
        (
            "a model that does not see",
            "gemini-3-pro",
            Capabilities {
                vision: false,
                ..all
            },
            png(),
            json!([response(&unseen("image/png, 4 bytes"), None)]),
        ),
    ] {
        let messages = vec![result(ToolResultOutput::Content(vec![part]))];
        let contents = contents_for(model, messages, capabilities);
        assert_eq!(contents[0]["parts"], expected, "{name_of_case}");
    }
}
