use super::*;
use agent_host_types::{
    id::CallId,
    message::{Role, ToolResult},
    output::{ContentPart, FileData, FilePart, ToolResultOutput},
};
use pretty_assertions::assert_eq;
use serde_json::Map;

const ALL: Capabilities = Capabilities {
    vision: true,
    documents: true,
    audio: false,
    files_in_results: true,
    parallel_calls: true,
    denied_is_error: false,
    max_output_tokens: None,
    window_tokens: None,
    send: crate::SendSettings::NONE,
};

fn input(model: &str, messages: Vec<Message>, capabilities: Capabilities) -> Value {
    let request = ModelRequest {
        system: None,
        messages,
        tools: vec![],
        answer_schema: None,
    };
    encode(model, &request, capabilities).body["input"].take()
}

#[test]
fn reasoning_is_requested_only_of_reasoning_models() {
    let request = ModelRequest {
        system: None,
        messages: vec![],
        tools: vec![],
        answer_schema: None,
    };
    for (model, expected) in [
        ("gpt-5.1", true),
        ("o3-mini", true),
        ("codex-mini-latest", true),
        ("whatever-comes", true),
        ("gpt-4o-mini", false),
        ("gpt-4.1", false),
        ("ft:gpt-4o:org::1", false),
        ("openai/gpt-4o", false),
        ("chatgpt-4o-latest", false),
        ("gpt-5-chat-latest", false),
    ] {
        let mut body = json!({"model": model, "input": [], "store": false, "stream": true});
        if expected {
            body["include"] = json!(["reasoning.encrypted_content"]);
        }
        assert_eq!(encode(model, &request, ALL).body, body);
    }
}

#[test]
fn stored_items_are_sent_only_if_message_is_unchanged() {
    let items = json!([
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
        {"type": "message", "id": "m1", "role": "assistant", "content": [{"type": "output_text", "text": "I"}]},
        {"type": "message", "id": "m2", "role": "assistant", "content": [{"type": "output_text", "text": "read."}]},
        {"type": "function_call", "id": "fc_1", "call_id": "twice", "name": "read", "arguments": "{}"},
    ]);
    let call = |id: &str, arguments: &str| {
        ToolCall::parse(
            CallId(id.to_owned()),
            "read".to_owned(),
            arguments.to_owned(),
        )
    };
    let message = |text: &str, calls: Vec<ToolCall>| Message {
        tool_calls: calls,
        metadata: Map::from_iter([("openai".to_owned(), json!({"model": "m", "items": items}))]),
        ..Message::text(Role::Assistant, text)
    };
    let said = |text: &str| json!({"type": "message", "role": "assistant", "content": text});
    let called = |id: &str, arguments: &str| json!({"type": "function_call", "call_id": id, "name": "read", "arguments": arguments});
    let mut own_id = items.clone();
    own_id[3]["call_id"] = json!("call-1");
    let text = "I\n\nread.";
    for (name, model, message, expected) in [
        (
            "as it was",
            "m",
            message(text, vec![call("twice", "{}")]),
            items.clone(),
        ),
        (
            "another id",
            "m",
            message(text, vec![call("call-1", "{}")]),
            own_id,
        ),
        (
            "same arguments in other text",
            "m",
            message(text, vec![call("twice", "{ }")]),
            items.clone(),
        ),
        (
            "another model",
            "n",
            message(text, vec![call("twice", "{}")]),
            json!([said(text), called("twice", "{}")]),
        ),
        (
            "another text",
            "m",
            message("[redacted]", vec![call("twice", "{}")]),
            json!([said("[redacted]"), called("twice", "{}")]),
        ),
        (
            "other arguments",
            "m",
            message(text, vec![call("twice", "oops")]),
            json!([
                said(text),
                called("twice", "{\"invalid_arguments\":\"oops\"}")
            ]),
        ),
        ("no call", "m", message(text, vec![]), json!([said(text)])),
        (
            "one more call",
            "m",
            message(text, vec![call("twice", "{}"), call("b", "")]),
            json!([said(text), called("twice", "{}"), called("b", "{}")]),
        ),
        (
            "nothing usable stored",
            "m",
            Message {
                metadata: Map::from_iter([("openai".to_owned(), json!([1]))]),
                ..message(text, vec![])
            },
            json!([said(text)]),
        ),
    ] {
        assert_eq!(input(model, vec![message], ALL), expected, "{name}");
    }
}

#[test]
fn unsupported_files_move_or_become_notes() {
    let file = |media_type: &str, name: &str| {
        ContentPart::File(FilePart {
            media_type: media_type.to_owned(),
            data: FileData::Bytes(vec![1]),
            filename: Some(name.to_owned()),
        })
    };
    let result = ToolResult {
        call_id: CallId("c1".to_owned()),
        name: "read".to_owned(),
        output: ToolResultOutput::Content(vec![
            file("image/png", "a.png"),
            file("application/pdf", "b.pdf"),
        ]),
        whole: None,
    };
    let output =
        |text: &str| json!({"type": "function_call_output", "call_id": "c1", "output": text});
    let image =
        json!({"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,AQ=="});
    let document = json!({"type": "input_file", "filename": "b.pdf", "file_data": "data:application/pdf;base64,AQ=="});
    let blind = "[image/png, 1 bytes, `a.png`; its content cannot be shown to this model]";
    for (capabilities, expected) in [
        (
            ALL,
            json!([{"type": "function_call_output", "call_id": "c1", "output": [image, document]}]),
        ),
        (
            Capabilities {
                files_in_results: false,
                ..ALL
            },
            json!([
                output(
                    "[file 1: image/png, 1 bytes, `a.png`; it is in the user message after the tool results]\n\
                     [file 2: application/pdf, 1 bytes, `b.pdf`; it is in the user message after the tool results]"
                ),
                {"type": "message", "role": "user", "content": [
                    {"type": "input_text", "text": "[file 1, from the result of `read`, call c1]"},
                    image,
                    {"type": "input_text", "text": "[file 2, from the result of `read`, call c1]"},
                    document,
                ]},
            ]),
        ),
        (
            Capabilities {
                vision: false,
                documents: false,
                ..ALL
            },
            json!([output(&format!(
                "{blind}\n[application/pdf, 1 bytes, `b.pdf`; its content cannot be shown to this model]"
            ))]),
        ),
    ] {
        let messages = vec![Message::results(vec![result.clone()])];
        assert_eq!(input("m", messages, capabilities), expected);
    }
}
