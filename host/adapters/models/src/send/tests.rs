use super::*;
use crate::{HttpModel, Preset, Provider, endpoint::test_endpoint};
use agent_host_types::{
    message::{Role, ToolResult},
    output::{ContentPart, FileData, FilePart, ToolResultOutput},
    tool::{Effect, ToolCall, ToolDefinition},
};
use pretty_assertions::assert_eq;
use serde_json::json;

fn calls(ids: &[&str]) -> Message {
    let calls = ids
        .iter()
        .map(|id| ToolCall::parse(CallId((*id).to_owned()), "read".to_owned(), "{}".to_owned()));
    Message {
        tool_calls: calls.collect(),
        ..Message::parts(Role::Assistant, vec![])
    }
}

fn results(ids: &[&str], output: &ToolResultOutput) -> Message {
    let results = ids.iter().map(|id| ToolResult {
        call_id: CallId((*id).to_owned()),
        name: "read".to_owned(),
        output: output.clone(),
        whole: None,
    });
    Message {
        tool_results: results.collect(),
        ..Message::parts(Role::ToolResult, vec![])
    }
}

fn request(messages: Vec<Message>) -> ModelRequest {
    ModelRequest {
        system: Some("Be brief.".to_owned()),
        messages,
        tools: vec![ToolDefinition {
            name: "read".to_owned(),
            title: None,
            description: "Reads".to_owned(),
            input_schema: json!({"type": "object", "properties": {}}),
            output_schema: None,
            effect: Effect::ReadOnly,
        }],
        answer_schema: None,
    }
}

/// The body of a request to a service of this preset.
fn body(preset: &str, request: &ModelRequest) -> Value {
    let preset = Preset::from_name(preset).unwrap();
    let mut capabilities = preset.provider.capabilities();
    capabilities.send = preset.send;
    capabilities.max_output_tokens = std::num::NonZeroU32::new(100);
    let endpoint = test_endpoint("http://127.0.0.1:1");
    let model = HttpModel::new(preset.provider, "m", endpoint, capabilities).unwrap();
    model.body(request)
}

fn roles(body: &Value) -> Vec<&str> {
    let messages = body["messages"].as_array().unwrap().iter();
    messages
        .map(|message| message["role"].as_str().unwrap())
        .collect()
}

#[test]
fn fields_are_sent_as_settings_say() {
    let whole = json!({
        "stream_options": {"include_usage": true},
        "parallel_tool_calls": false,
        "tool_choice": "auto",
        "max_tokens": 5,
        "tools": [{"strict": false}, {"function": {"strict": true}}],
        "response_format": {"json_schema": {"strict": true}},
        "text": {"format": {"strict": true}},
        "messages": [{"role": "system", "content": "a"}, {"role": "user", "content": "b"}],
    });
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut value = whole.clone();
        change(&mut value);
        value
    };
    let without =
        |name: &'static str| changed(&|value| drop(value.as_object_mut().unwrap().remove(name)));
    let (on, off) = (Some(true), Some(false));
    let none = SendSettings::NONE;
    for (settings, expected) in [
        (none, whole.clone()),
        (
            SendSettings {
                stream_options: off,
                ..none
            },
            without("stream_options"),
        ),
        (
            SendSettings {
                parallel_tool_calls: off,
                ..none
            },
            without("parallel_tool_calls"),
        ),
        (
            SendSettings {
                tool_choice: off,
                ..none
            },
            without("tool_choice"),
        ),
        (
            SendSettings {
                max_completion_tokens: on,
                ..none
            },
            changed(&|value| {
                let limit = value.as_object_mut().unwrap().remove("max_tokens").unwrap();
                value["max_completion_tokens"] = limit;
            }),
        ),
        (
            SendSettings {
                strict: off,
                ..none
            },
            changed(&|value| {
                value["tools"] = json!([{}, {"function": {}}]);
                value["response_format"] = json!({"json_schema": {}});
                value["text"] = json!({"format": {}});
            }),
        ),
        (
            SendSettings {
                developer: on,
                ..none
            },
            changed(&|value| value["messages"][0]["role"] = json!("developer")),
        ),
    ] {
        let mut body = whole.clone();
        settings.apply(&mut body);
        assert_eq!(body, expected, "{settings:?}");
    }
    let all = SendSettings {
        stream_options: off,
        tool_choice: on,
        ..none
    };
    let base = SendSettings {
        stream_options: on,
        strict: off,
        ..none
    };
    assert_eq!(all.over(base), SendSettings { strict: off, ..all });
}

/// Mistral takes ids of nine letters and digits, and no user message directly after a tool's.
#[test]
fn mistral_gets_its_ids_and_order() {
    let image = ContentPart::File(FilePart {
        media_type: "image/png".to_owned(),
        data: FileData::Bytes(vec![1]),
        filename: None,
    });
    let text = ToolResultOutput::Text("a".to_owned());
    let image = ToolResultOutput::Content(vec![image]);
    let user = || Message::text(Role::User, "go");
    let bridged = [
        "system",
        "user",
        "assistant",
        "tool",
        "tool",
        "assistant",
        "user",
    ];
    let ids = ["call_PTLP8xhu3uwZk4l3nlnrrJha", "toolu_01"];
    for (messages, expected) in [
        // A message after stopped work.
        (
            vec![user(), calls(&ids), results(&ids, &text), user()],
            &bridged[..],
        ),
        // An image in a result.
        (
            vec![user(), calls(&ids), results(&ids, &image)],
            &bridged[..],
        ),
        (
            vec![user(), calls(&ids), results(&ids, &text)],
            &bridged[..5],
        ),
    ] {
        let sent = body("mistral", &request(messages.clone()));
        assert_eq!(roles(&sent), expected);
        assert_eq!(sent.get("stream_options"), None);
        let messages_sent = &sent["messages"];
        for (index, id) in ids.iter().enumerate() {
            let call = messages_sent[2]["tool_calls"][index]["id"]
                .as_str()
                .unwrap();
            assert_eq!(messages_sent[3 + index]["tool_call_id"], call);
            assert!(call.len() == 9 && call.bytes().all(|byte| byte.is_ascii_alphanumeric()));
            // The same in every later request, and in a resumed session.
            assert_eq!(call, shortened(id));
        }
        let plain = body("openai-compat", &request(messages));
        assert_eq!(plain["messages"][2]["tool_calls"][0]["id"], ids[0]);
    }
}

#[test]
fn short_ids_are_kept_and_distinct() {
    let kept = "D681PevKs";
    let taken = shortened("call-1");
    let messages = [calls(&[kept, "call-1", &taken])];
    let short = short_ids(&messages);
    let expected = shortened(&taken);
    assert_eq!(short[&CallId("call-1".to_owned())].0, expected);
    assert_eq!(short.len(), 1);
}

#[test]
fn presets_send_what_their_service_takes() {
    let set: Vec<(&str, SendSettings)> = Preset::all()
        .map(|preset| (preset.name, preset.send))
        .filter(|(_, send)| !send.is_none())
        .collect();
    let mistral = SendSettings {
        stream_options: Some(false),
        nine_character_ids: Some(true),
        user_after_tool: Some(false),
        ..SendSettings::NONE
    };
    let azure = SendSettings {
        max_completion_tokens: Some(true),
        ..SendSettings::NONE
    };
    assert_eq!(set, [("mistral", mistral), ("azure", azure)]);
    let sent = body("azure", &request(vec![Message::text(Role::User, "go")]));
    assert_eq!(
        (&sent["max_completion_tokens"], sent.get("max_tokens")),
        (&json!(100), None)
    );
    assert_eq!(
        Preset::for_provider(Provider::OpenAiCompat).send,
        SendSettings::NONE
    );
}
