use crate::{Capabilities, Provider};
use agent_host_types::{
    message::{Message, Role},
    model::ModelRequest,
    output::{ContentPart, FileData, FilePart},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

fn sent(provider: Provider, media_type: &str, capabilities: Capabilities) -> Value {
    let part = ContentPart::File(FilePart {
        media_type: media_type.to_owned(),
        data: FileData::Bytes(b"ID3".to_vec()),
        filename: None,
    });
    let request = ModelRequest {
        system: None,
        messages: vec![Message::parts(Role::User, vec![part])],
        tools: Vec::new(),
        answer_schema: None,
    };
    let body = (provider.wire().encode)("m", &request, capabilities).body;
    let message = ["messages", "input", "contents"]
        .iter()
        .find_map(|key| body.get(key)?.get(0).cloned());
    let message = message.unwrap();
    let content = message.get("content").or_else(|| message.get("parts"));
    match content.unwrap() {
        Value::Array(parts) => {
            let mut part = parts[0].clone();
            let fields = part.as_object_mut().unwrap();
            fields.remove("cache_control");
            part
        }
        text => text.clone(),
    }
}

/// Sound goes to the wires that have a form for it, if the model hears it; elsewhere a note says
/// what is missing.
#[test]
fn sound_is_sent_where_there_is_a_form_for_it() {
    let note = |media_type: &str| {
        format!("[{media_type}, 3 bytes; its content cannot be shown to this model]")
    };
    for provider in Provider::ALL {
        let deaf = Capabilities {
            audio: false,
            ..provider.capabilities()
        };
        let hearing = Capabilities {
            audio: true,
            ..deaf
        };
        assert_eq!(
            provider.capabilities().audio,
            provider == Provider::Gemini,
            "{provider:?}"
        );
        for (media_type, format, capabilities) in [
            ("audio/mpeg", "mp3", hearing),
            ("audio/wav", "wav", hearing),
            ("audio/mpeg", "", deaf),
            ("audio/ogg", "", hearing),
        ] {
            let text = note(media_type);
            let expected = match provider {
                Provider::OpenAiCompat if !format.is_empty() => {
                    json!({"type": "input_audio", "input_audio": {"data": "SUQz", "format": format}})
                }
                Provider::Gemini if !format.is_empty() => {
                    json!({"inlineData": {"mimeType": media_type, "data": "SUQz"}})
                }
                Provider::OpenAi | Provider::OpenAiCompat | Provider::Ollama => json!(text),
                Provider::Gemini => json!({"text": text}),
                Provider::Anthropic => json!({"type": "text", "text": text}),
            };
            assert_eq!(
                sent(provider, media_type, capabilities),
                expected,
                "{provider:?} {media_type}"
            );
        }
    }
}
