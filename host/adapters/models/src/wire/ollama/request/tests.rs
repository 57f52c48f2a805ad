use super::*;
use agent_host_types::{
    message::Role,
    output::{FileData, FilePart},
};
use pretty_assertions::assert_eq;
use serde_json::Map;
use std::num::NonZeroU32;

const SEEING: Capabilities = Capabilities {
    vision: true,
    documents: true,
    audio: false,
    files_in_results: false,
    parallel_calls: true,
    denied_is_error: false,
    max_output_tokens: None,
    window_tokens: None,
    send: crate::SendSettings::NONE,
};

/// The body of a request without its model.
fn encoded(messages: Vec<Message>, capabilities: Capabilities) -> (Value, usize) {
    let request = ModelRequest {
        system: None,
        messages,
        tools: vec![],
        answer_schema: None,
    };
    let Encoded { body, images } = encode("m", &request, capabilities);
    (body, images)
}

#[test]
fn only_images_by_bytes_are_sent() {
    let file = |media_type: &str, data: FileData| {
        ContentPart::File(FilePart {
            media_type: media_type.to_owned(),
            data,
            filename: None,
        })
    };
    let url = "https://example.com/b.png";
    let message = Message::parts(
        Role::User,
        vec![
            file("image/png", FileData::Bytes(vec![1])),
            file("image/png", FileData::Url(url.to_owned())),
            file("application/pdf", FileData::Bytes(vec![2])),
        ],
    );
    let unseen = |what: &str| format!("[{what}; its content cannot be shown to this model]");
    let notes = [
        unseen("image/png, 1 bytes"),
        unseen(&format!("image/png, at {url}")),
        unseen("application/pdf, 1 bytes"),
    ];
    let blind = Capabilities {
        vision: false,
        ..SEEING
    };
    for (capabilities, wire, images) in [
        (
            SEEING,
            json!({"role": "user", "content": notes[1..].join("\n"), "images": ["AQ=="]}),
            1,
        ),
        (
            blind,
            json!({"role": "user", "content": notes.join("\n")}),
            0,
        ),
    ] {
        let body = json!({"model": "m", "messages": [wire], "stream": true});
        assert_eq!(encoded(vec![message.clone()], capabilities), (body, images));
    }
}

#[test]
fn limits_are_sent_as_options() {
    let (reply, window) = (NonZeroU32::new(100), Some(8192));
    for (max_output_tokens, window_tokens, options) in [
        (reply, None, json!({"num_predict": 100})),
        (None, window, json!({"num_ctx": 8192})),
        (reply, window, json!({"num_predict": 100, "num_ctx": 8192})),
    ] {
        let bounded = Capabilities {
            max_output_tokens,
            window_tokens,
            ..SEEING
        };
        let expected = json!({"model": "m", "messages": [], "stream": true, "options": options});
        assert_eq!(encoded(vec![], bounded), (expected, 0));
    }
}

#[test]
fn invalid_stored_metadata_is_ignored() {
    let said = json!({"role": "assistant", "content": "a"});
    let mut thought = said.clone();
    thought["thinking"] = json!("hm");
    for (stored, expected) in [
        (json!({"thinking": "hm"}), thought),
        (json!({"thinking": 7}), said.clone()),
        (json!("odd"), said),
    ] {
        let message = Message {
            metadata: Map::from_iter([("ollama".to_owned(), stored)]),
            ..Message::text(Role::Assistant, "a")
        };
        let body = json!({"model": "m", "messages": [expected], "stream": true});
        assert_eq!(encoded(vec![message], SEEING), (body, 0));
    }
}
