use super::*;
use crate::Provider;
use agent_host_types::{
    id::CallId,
    output::{FileData, FilePart},
};
use pretty_assertions::assert_eq;
use serde_json::Map;

fn request(messages: Vec<Message>) -> ModelRequest {
    ModelRequest {
        system: None,
        messages,
        tools: vec![],
        answer_schema: None,
    }
}

fn encoded(request: &ModelRequest, capabilities: Capabilities) -> Encoded {
    encode("m", request, capabilities)
}

/// The messages, without the marks of the cache.
fn messages_of(messages: Vec<Message>) -> Value {
    let mut body = encoded(&request(messages), Provider::Anthropic.capabilities()).body;
    for message in body["messages"].as_array_mut().unwrap() {
        for block in message["content"].as_array_mut().unwrap() {
            block.as_object_mut().unwrap().remove("cache_control");
        }
    }
    body["messages"].take()
}

fn result(id: &str, output: ToolResultOutput) -> ToolResult {
    ToolResult {
        call_id: CallId(id.to_owned()),
        name: "read".to_owned(),
        output,
        whole: None,
    }
}

fn calling(text: &str, id: &str) -> Message {
    Message {
        tool_calls: vec![ToolCall::parse(
            CallId(id.to_owned()),
            "read".to_owned(),
            String::new(),
        )],
        ..Message::text(Role::Assistant, text)
    }
}

fn image() -> ContentPart {
    ContentPart::File(FilePart {
        media_type: "image/png".to_owned(),
        data: FileData::Bytes(b"PNG!".to_vec()),
        filename: None,
    })
}

#[test]
fn roles_alternate_and_blocks_are_not_empty() {
    let text = |role, text: &str| Message::text(role, text);
    let user = |text: &str| json!({"role": "user", "content": [{"type": "text", "text": text}]});
    let model =
        |text: &str| json!({"role": "assistant", "content": [{"type": "text", "text": text}]});
    for (name, messages, expected) in [
        (
            "nothing",
            vec![],
            json!([user("[the conversation continues]")]),
        ),
        (
            "only blanks",
            vec![text(Role::User, " \n"), text(Role::Assistant, "")],
            json!([user("[the conversation continues]")]),
        ),
        (
            "the model first",
            vec![text(Role::Assistant, "a"), text(Role::User, "b")],
            json!([user("[the conversation continues]"), model("a"), user("b")]),
        ),
        (
            "a reply without text",
            vec![
                text(Role::User, "a"),
                text(Role::Assistant, ""),
                text(Role::User, "b"),
            ],
            json!([{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}]),
        ),
        (
            "results, then the user",
            vec![
                text(Role::User, "a"),
                calling("", "c1"),
                Message::results(vec![result("c1", ToolResultOutput::Text(" ".to_owned()))]),
                text(Role::System, "b"),
                text(Role::User, "c"),
            ],
            json!([
                user("a"),
                {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "read", "input": {}}]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "c1"},
                    {"type": "text", "text": "[from the operator]\nb"},
                    {"type": "text", "text": "c"},
                ]},
            ]),
        ),
    ] {
        assert_eq!(messages_of(messages), expected, "{name}");
    }
}

#[test]
fn foreign_ids_are_encoded_in_allowed_letters() {
    for (id, expected) in [
        ("toolu_01-A", "toolu_01-A"),
        ("functions.read:0", "functions_2eread_3a0"),
        ("fc|ü", "fc_7c_c3_bc"),
    ] {
        let messages = vec![
            Message::text(Role::User, "a"),
            calling("b", id),
            Message::results(vec![result(id, ToolResultOutput::json(json!(1)))]),
        ];
        let messages = messages_of(messages);
        assert_eq!(messages[1]["content"][1]["id"], expected);
        assert_eq!(messages[2]["content"][0]["tool_use_id"], expected);
    }
}

/// Where the marks are, as pointers.
fn marks(value: &Value, place: &str, found: &mut Vec<String>) {
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(object) => object
            .iter()
            .map(|(key, value)| (key.clone(), value))
            .collect(),
        Value::Array(list) => (0..)
            .zip(list)
            .map(|(index, value): (usize, _)| (index.to_string(), value))
            .collect(),
        _ => return,
    };
    for (key, value) in inner {
        if key == "cache_control" {
            assert_eq!(*value, json!({"type": "ephemeral"}));
            found.push(place.to_owned());
        } else {
            marks(value, &format!("{place}/{key}"), found);
        }
    }
}

/// The body without its marks.
fn unmarked(value: &Value) -> Value {
    match value {
        Value::Object(object) => object
            .iter()
            .filter(|(key, _)| *key != "cache_control")
            .map(|(key, value)| (key.clone(), unmarked(value)))
            .collect::<Map<_, _>>()
            .into(),
        Value::Array(list) => list.iter().map(unmarked).collect(),
        other => other.clone(),
    }
}

/// Each request marks where it ends, begins with what the last one was, and marks the end of that
/// again.
#[test]
fn request_reads_previous_one_from_cache() {
    let tool = |name: &str| ToolDefinition {
        name: name.to_owned(),
        title: None,
        description: String::new(),
        input_schema: json!({"type": "object"}),
        output_schema: None,
        effect: agent_host_types::tool::Effect::ReadOnly,
    };
    let answer = |id: &str| {
        let output = ToolResultOutput::Content(vec![image()]);
        Message::results(vec![result(id, output.clone()), result("x", output)])
    };
    let session = [
        Message::text(Role::User, "a"),
        calling("b", "c1"),
        answer("c1"),
        calling("c", "c2"),
        answer("c2"),
        Message::text(Role::Assistant, "d"),
        Message::text(Role::User, "e"),
    ];
    let ends = [
        "/messages/0/content/0",
        "/messages/2/content/1",
        "/messages/4/content/1",
        "/messages/6/content/0",
    ];
    let mut last: Option<Value> = None;
    for (step, length) in [1, 3, 5, 7].into_iter().enumerate() {
        let request = ModelRequest {
            system: Some("Be brief.".to_owned()),
            messages: session[..length].to_vec(),
            tools: vec![tool("list"), tool("read")],
            answer_schema: None,
        };
        let body = encoded(&request, Provider::Anthropic.capabilities()).body;
        let mut found = Vec::new();
        marks(&body, "", &mut found);
        let mut expected = ends[step.saturating_sub(1)..=step].to_vec();
        expected.extend(["/system/0", "/tools/1"]);
        assert_eq!(found, expected);

        let body = unmarked(&body);
        if let Some(last) = last.replace(body.clone()) {
            let (old, new) = (
                last["messages"].as_array().unwrap(),
                body["messages"].as_array().unwrap(),
            );
            assert_eq!(new[..old.len()], old[..]);
            assert_eq!(
                (&body["system"], &body["tools"]),
                (&last["system"], &last["tools"])
            );
        }
    }
}

#[test]
fn thoughts_are_sent_only_to_their_model() {
    let thought = json!({"type": "thinking", "thinking": "hm", "signature": "c2lnbmVk"});
    let spoken = json!({"type": "text", "text": "Grüße"});
    let used = json!({"type": "tool_use", "id": "c1", "name": "read", "input": {}});
    let hidden = json!({"type": "redacted_thinking", "data": "x"});
    let between = json!([{"type": "text", "bytes": 5}, thought, {"type": "text", "bytes": 2}, hidden, {"type": "tool_use"}]);
    let first = json!({"type": "text", "text": "Grü"});
    let second = json!({"type": "text", "text": "ße"});
    for (name, model, blocks, expected) in [
        (
            "before all",
            "m",
            json!([thought, hidden]),
            json!([thought, hidden, spoken, used]),
        ),
        (
            "between",
            "m",
            json!([{"type": "text", "bytes": 4}, thought, {"type": "text", "bytes": 3}, hidden, {"type": "tool_use"}]),
            json!([first, thought, second, hidden, used]),
        ),
        // The text is another than it was.
        (
            "within a letter",
            "m",
            between,
            json!([{"type": "text", "text": "Grüße"}, thought, hidden, used]),
        ),
        (
            "more than there is",
            "m",
            json!([thought, {"type": "text", "bytes": 99}, {"type": "tool_use"}, {"type": "tool_use"}]),
            json!([thought, spoken, used]),
        ),
        (
            "of another model",
            "m2",
            json!([thought]),
            json!([spoken, used]),
        ),
        (
            "of no known form",
            "m",
            json!([{"type": "odd"}]),
            json!([spoken, used]),
        ),
    ] {
        let metadata = json!({"anthropic": {"model": model, "blocks": blocks}});
        let message = Message {
            metadata: metadata.as_object().unwrap().clone(),
            ..calling("Grüße", "c1")
        };
        let messages = messages_of(vec![Message::text(Role::User, "a"), message]);
        assert_eq!(messages[1]["content"], expected, "{name}");
    }
}

#[test]
fn capabilities_change_what_is_sent() {
    let all = Provider::Anthropic.capabilities();
    let messages = vec![
        Message::text(Role::User, "a"),
        calling("b", "c1"),
        Message::results(vec![result("c1", ToolResultOutput::Content(vec![image()]))]),
    ];
    let picture = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "UE5HIQ=="}});
    let inside =
        |content: Value| json!([{"type": "tool_result", "tool_use_id": "c1", "content": content}]);
    let marker = "[file 1: image/png, 4 bytes; it is in the user message after the tool results]";
    let note = "[image/png, 4 bytes; its content cannot be shown to this model]";
    for (capabilities, images, expected) in [
        (all, 1, inside(json!([picture]))),
        (
            Capabilities {
                vision: false,
                ..all
            },
            0,
            inside(json!([{"type": "text", "text": note}])),
        ),
        (
            Capabilities {
                files_in_results: false,
                ..all
            },
            1,
            json!([
                {"type": "tool_result", "tool_use_id": "c1",
                 "content": [{"type": "text", "text": marker}]},
                {"type": "text", "text": "[file 1, from the result of `read`, call c1]"},
                picture,
            ]),
        ),
    ] {
        let encoded = encoded(&request(messages.clone()), capabilities);
        let content = unmarked(&encoded.body["messages"][2]["content"]);
        assert_eq!((content, encoded.images), (expected, images));
    }

    let few = Capabilities {
        parallel_calls: false,
        max_output_tokens: NonZeroU32::new(7),
        ..all
    };
    let mut request = request(vec![Message::text(Role::User, "a")]);
    let body = |request: &ModelRequest| {
        let body = encoded(request, few).body;
        (body["max_tokens"].clone(), body.get("tool_choice").cloned())
    };
    assert_eq!(body(&request), (json!(7), None));
    request.tools.push(ToolDefinition {
        name: "read".to_owned(),
        title: None,
        description: String::new(),
        input_schema: json!({"type": "object"}),
        output_schema: None,
        effect: agent_host_types::tool::Effect::ReadOnly,
    });
    let one = json!({"type": "auto", "disable_parallel_tool_use": true});
    assert_eq!(body(&request), (json!(7), Some(one)));
}

#[test]
fn denial_is_error_only_if_configured() {
    let denied = result("c1", ToolResultOutput::ExecutionDenied(None));
    let request = request(vec![Message::results(vec![denied])]);
    for denied_is_error in [false, true] {
        let capabilities = Capabilities {
            denied_is_error,
            ..Provider::Anthropic.capabilities()
        };
        let body = encoded(&request, capabilities).body;
        let block = body.pointer("/messages/0/content/0").unwrap();
        assert_eq!(block["content"], json!("Tool call execution denied."));
        let marked = block.get("is_error").cloned();
        assert_eq!(marked, denied_is_error.then_some(json!(true)));
    }
}

#[test]
fn unsupported_files_become_notes() {
    let part = |url: &str| {
        ContentPart::File(FilePart {
            media_type: "image/png".to_owned(),
            data: FileData::Url(url.to_owned()),
            filename: None,
        })
    };
    let messages = vec![Message::parts(
        Role::User,
        vec![
            part("http://a.example/b.png"),
            part("https://a.example/b.png"),
        ],
    )];
    assert_eq!(
        messages_of(messages),
        json!([{"role": "user", "content": [
            {"type": "text", "text": "[image/png, at http://a.example/b.png; its content cannot be shown to this model]"},
            {"type": "image", "source": {"type": "url", "url": "https://a.example/b.png"}},
        ]}])
    );
}
