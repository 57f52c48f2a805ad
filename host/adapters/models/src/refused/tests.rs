use super::*;
use crate::{
    Endpoint, HttpModel, Provider, RetryPolicy, Timeouts,
    testing::server::{Answer, TestServer},
};
use agent_host_engine::model::{Model, ModelDelta};
use agent_host_types::message::{Message, Role};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

fn file(media_type: &str, data: FileData) -> ContentPart {
    ContentPart::File(FilePart {
        media_type: media_type.to_owned(),
        data,
        filename: None,
    })
}

/// A conversation with an older image and a newer message with a file of each kind.
fn request() -> ModelRequest {
    let url = |url: &str| FileData::Url(url.to_owned());
    ModelRequest {
        system: None,
        messages: vec![
            Message::parts(
                Role::User,
                vec![file("image/webp", FileData::Bytes(vec![1]))],
            ),
            Message::parts(
                Role::User,
                vec![
                    file("image/webp", FileData::Bytes(vec![2])),
                    file("image/png", url("https://example.com/a.png")),
                    file("image/png", url("https://example.com/b.png")),
                    file("application/pdf", FileData::Bytes(vec![3])),
                ],
            ),
        ],
        tools: Vec::new(),
        answer_schema: None,
    }
}

#[test]
fn refused_files_are_found_by_the_server_message() {
    let kind = ModelErrorKind::InvalidRequest;
    for (kind, message, expected) in [
        (
            kind,
            "Timeout while downloading https://example.com/b.png.",
            vec!["image/png, at https://example.com/b.png"],
        ),
        (
            kind,
            "Unable to download the file. Please verify the URL and try again.",
            vec![
                "image/png, at https://example.com/a.png",
                "image/png, at https://example.com/b.png",
            ],
        ),
        (
            kind,
            "Could not process image",
            vec![
                "image/webp, 1 bytes",
                "image/png, at https://example.com/a.png",
                "image/png, at https://example.com/b.png",
            ],
        ),
        (
            kind,
            "messages.3.content.0: Could not process PDF",
            vec!["application/pdf, 1 bytes"],
        ),
        (kind, "prompt: invalid", vec![]),
        (
            ModelErrorKind::Unauthorized,
            "Could not process image",
            vec![],
        ),
    ] {
        let refused = RefusedFiles::default();
        let error = ModelError::new(kind, message);
        assert_eq!(refused.remember(&error, &request()), expected, "{message}");
        // The next request has notes in their places and in no others.
        let next = refused.omit(Cow::Owned(request()));
        let whole = request();
        let changed = parts(&whole)
            .zip(parts(&next))
            .filter(|(old, new)| old != new);
        let changed: Vec<(String, &ContentPart)> =
            changed.map(|(old, new)| (describe(old), new)).collect();
        let notes: Vec<(String, ContentPart)> = expected
            .iter()
            .map(|what| {
                let text = format!("[{what}; its content cannot be shown to this model]");
                ((*what).to_owned(), ContentPart::Text { text })
            })
            .collect();
        let notes: Vec<(String, &ContentPart)> = notes
            .iter()
            .map(|(what, note)| (what.clone(), note))
            .collect();
        assert_eq!(changed, notes, "{message}");
    }
}

#[tokio::test]
async fn request_is_repeated_without_the_refused_file() {
    let refusal = |message: &str| {
        let error = json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}});
        Answer::new(400).json(&error)
    };
    let reply = json!({"type": "message", "stop_reason": "end_turn", "content": [{"type": "text", "text": "ok"}]});
    let server = TestServer::sequence(vec![
        refusal("Could not process image"),
        refusal("Could not process image"),
        Answer::new(200).json(&reply),
        Answer::new(200).json(&reply),
    ])
    .await;
    let provider = Provider::Anthropic;
    let endpoint = Endpoint {
        base_url: server.url.clone(),
        key: Some("sesame".into()),
        key_source: "THE_KEY".to_owned(),
        extras: crate::RequestExtras::default(),
        timeouts: Timeouts::default(),
    };
    let model = HttpModel::new(provider, "m", endpoint, provider.capabilities())
        .unwrap()
        .with_retry(RetryPolicy {
            retries: 0,
            ..RetryPolicy::default()
        });
    let image = |byte: u8| file("image/webp", FileData::Bytes(vec![byte]));
    let request = ModelRequest {
        system: None,
        messages: [1, 2, 3]
            .map(|byte| Message::parts(Role::User, vec![image(byte)]))
            .into(),
        tools: Vec::new(),
        answer_schema: None,
    };
    let notes = Mutex::new(Vec::new());
    let sink = |delta: ModelDelta<'_>| {
        if let ModelDelta::Note(note) = delta {
            notes.lock().unwrap().push(note.to_owned());
        }
    };
    for _ in 0..2 {
        assert_eq!(model.respond(&request, &sink).await.unwrap().text, "ok");
    }
    let note = "the model server refused image/webp, 1 bytes, so the model does not see it";
    assert_eq!(*notes.lock().unwrap(), [note, note]);
    let types = |body: Value| -> Vec<String> {
        let blocks = body["messages"][0]["content"].as_array().unwrap();
        blocks
            .iter()
            .map(|block| block["type"].as_str().unwrap().to_owned())
            .collect()
    };
    let sent: Vec<Vec<String>> = server.bodies().into_iter().map(types).collect();
    assert_eq!(
        sent,
        [
            ["image", "image", "image"],
            ["image", "image", "text"],
            ["image", "text", "text"],
            ["image", "text", "text"],
        ]
    );
}
