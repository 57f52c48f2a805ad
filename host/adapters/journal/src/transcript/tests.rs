//! Conversations as real programs write them, and others. What they become is compared as a whole.

mod fuzz;

use super::Transcript;
use crate::{ImportAs, ImportSource, JournalStore as _, SqliteOptions, SqliteStore};
use agent_host_types::{
    accounting::Accounting,
    event::Event,
    id::{CallId, SessionId},
    message::{Message, Role},
    model::{ModelReply, StopReason, Usage},
    output::{Blob, ContentPart, FileData, FilePart, ToolResultOutput},
    tool::ToolCall,
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

const OPENAI: &str = include_str!("tests/openai.json");
const ANTHROPIC: &str = include_str!("tests/anthropic.json");
const AI_SDK_4: &str = include_str!("tests/ai_sdk_4.json");
const AI_SDK_6: &str = include_str!("tests/ai_sdk_6.json");

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\xff\xfb\xef\xff";

fn read(text: &str) -> Transcript {
    Transcript::read(&mut text.as_bytes()).unwrap().unwrap()
}

/// The events of the session that an import stores, and the warnings. Its blobs are checked.
async fn imported(text: &str) -> (Vec<Event>, Vec<String>) {
    let transcript = read(text);
    let (warnings, blobs) = (transcript.warnings().to_vec(), transcript.blobs.clone());
    let state = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(state.path(), SqliteOptions::default())
        .await
        .unwrap();
    let source = ImportSource::Conversation(transcript);
    let imported = store.import_owned(source, ImportAs::Copy, None);
    let session = imported.await.unwrap();
    for blob in &blobs {
        assert_eq!(store.read_blob(blob.digest).await.unwrap(), blob.bytes);
    }
    let records = store.read(session, 0).await.unwrap().into_iter();
    let mut events: Vec<Event> = records.map(|record| record.event).collect();
    let at = events.len() as u64 - 2;
    let forked = Event::SessionForked {
        from: session,
        at,
        by: None,
    };
    assert_eq!(events.pop(), Some(forked));
    (events, warnings)
}

fn started(system: Option<&str>) -> Event {
    Event::SessionStarted {
        program: env!("CARGO_PKG_VERSION").to_owned(),
        system: system.map(str::to_owned),
        directory: None,
        client: None,
        parent: None,
        labels: vec!["history".to_owned()],
    }
}

fn input(parts: Vec<ContentPart>) -> Event {
    let message = Message::parts(Role::User, parts);
    Event::InputReceived {
        message,
        labels: Vec::new(),
        by: None,
    }
}

/// A reply with these calls: id, tool, arguments.
fn reply(turn: u64, text: &str, calls: &[(&str, &str, &str)]) -> Event {
    let call = |(id, tool, raw): &(&str, &str, &str)| {
        ToolCall::parse(CallId((*id).into()), (*tool).into(), (*raw).into())
    };
    let stop_reason = match calls {
        [] => StopReason::EndTurn,
        _ => StopReason::ToolUse,
    };
    let reply = ModelReply {
        text: text.into(),
        tool_calls: calls.iter().map(call).collect(),
        stop_reason: Some(stop_reason),
        ..ModelReply::default()
    };
    Event::ModelReplied {
        turn,
        reply,
        discarded: Usage::default(),
        duration_ms: 0,
        tape: None,
    }
}

fn settled(call: &str, tool: &str, output: ToolResultOutput) -> Event {
    Event::CallSettled {
        call_id: CallId(call.into()),
        tool: tool.into(),
        output,
        whole: None,
        child: None,
        accounting: Accounting::default(),
        audit: Vec::new(),
        rule: None,
        path: Vec::new(),
        labels: Vec::new(),
        reference: None,
        tape: None,
    }
}

fn text(text: &str) -> ContentPart {
    ContentPart::Text { text: text.into() }
}

fn png() -> ContentPart {
    ContentPart::File(FilePart {
        media_type: "image/png".into(),
        data: FileData::Blob(Blob::new(PNG.to_vec()).reference()),
        filename: None,
    })
}

#[tokio::test]
async fn openai_conversation_becomes_a_session() {
    let expected = vec![
        started(Some("Be brief.")),
        input(vec![
            text("What is the weather in Kiel, and what is in the picture?"),
            png(),
        ]),
        reply(
            1,
            "",
            &[
                ("call_7Qx", "get_weather", "{\"city\": \"Kiel\"}"),
                ("call_9Ab", "look", ""),
            ],
        ),
        settled("call_9Ab", "look", ToolResultOutput::Text("a cat".into())),
        // The form has no error flag, and nothing is guessed from the text.
        settled(
            "call_7Qx",
            "get_weather",
            ToolResultOutput::Text(r#"{"error":"no such city"}"#.into()),
        ),
        reply(2, "I do not know the weather. There is a cat.", &[]),
    ];
    assert_eq!(imported(OPENAI).await, (expected, vec![]));
}

#[tokio::test]
async fn anthropic_conversation_becomes_a_session() {
    let expected = vec![
        started(Some("Be brief.")),
        input(vec![text(
            "What is the weather in Kiel, and what is in the picture?",
        )]),
        reply(
            1,
            "I look.",
            &[
                ("toolu_01A", "get_weather", r#"{"city":"Kiel"}"#),
                ("toolu_01B", "look", "{}"),
            ],
        ),
        settled(
            "toolu_01A",
            "get_weather",
            ToolResultOutput::ErrorText("no such city".into()),
        ),
        settled(
            "toolu_01B",
            "look",
            ToolResultOutput::Content(vec![text("a cat"), png()]),
        ),
        input(vec![text("Go on.")]),
        reply(2, "There is a cat.", &[]),
    ];
    let warnings = vec!["the model's reasoning is omitted".to_owned()];
    assert_eq!(imported(ANTHROPIC).await, (expected, warnings));
}

#[tokio::test]
async fn ai_sdk_4_conversation_becomes_a_session() {
    let expected = vec![
        started(Some("Be brief.")),
        input(vec![text("What is the weather in Kiel?"), png()]),
        reply(
            1,
            "I look.",
            &[
                ("call_1", "get_weather", r#"{"city":"Kiel"}"#),
                ("call_2", "look", "{}"),
            ],
        ),
        settled(
            "call_1",
            "get_weather",
            ToolResultOutput::ErrorText("no such city".into()),
        ),
        settled(
            "call_2",
            "look",
            ToolResultOutput::json(json!({"seen": "a cat"})),
        ),
        reply(2, "There is a cat.", &[]),
    ];
    let warnings = vec!["the model's reasoning is omitted".to_owned()];
    assert_eq!(imported(AI_SDK_4).await, (expected, warnings));
}

/// A call without a result is settled, since no model takes a conversation without.
#[tokio::test]
async fn ai_sdk_6_conversation_becomes_a_session() {
    let unanswered = "The conversation was imported without the result of this call. Its outcome is unknown, and it \
        is not repeated. Check before you call it again.";
    let unanswered =
        ToolResultOutput::error_json(json!({"code": "interrupted-unknown", "message": unanswered}));
    let expected = vec![
        started(None),
        input(vec![text("What is the weather in Kiel?")]),
        reply(
            1,
            "",
            &[
                ("call_1", "get_weather", r#"{"city":"Kiel"}"#),
                ("call_2", "look", "{}"),
                ("call_3", "send", "{}"),
                ("call_4", "search", "{}"),
            ],
        ),
        settled(
            "call_4",
            "search",
            ToolResultOutput::json(json!({"type": "text", "hits": 0})),
        ),
        settled(
            "call_1",
            "get_weather",
            ToolResultOutput::error_json(json!({"code": 404})),
        ),
        settled(
            "call_2",
            "look",
            ToolResultOutput::Content(vec![text("a cat"), png()]),
        ),
        settled("call_3", "send", unanswered),
    ];
    let warning = "result of call call_2: part 1 is of the deprecated kind `image-data`; it was read as a file";
    assert_eq!(
        imported(AI_SDK_6).await,
        (expected, vec![warning.to_owned()])
    );
}

/// The session is a new one each time.
#[test]
fn conversation_has_no_session_of_its_own() {
    let sessions: [SessionId; 2] = [read(OPENAI), read(OPENAI)].map(|read| read.session);
    assert_ne!(sessions[0], sessions[1]);
}

/// Text alone is the same in every form, and a failed result of Anthropic's with an image is kept
/// as its JSON.
#[tokio::test]
async fn content_keeps_its_kind() {
    let plain =
        json!([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]);
    let expected = vec![
        started(None),
        input(vec![text("hi")]),
        reply(1, "hello", &[]),
    ];
    assert_eq!(imported(&plain.to_string()).await, (expected, vec![]));

    let image = json!({"type": "image", "source": {"type": "url", "url": "https://example.com/a"}});
    let failed = |content: &Value| {
        json!([
            {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "t", "input": {}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": content, "is_error": true}
            ]},
        ])
    };
    let words = json!([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]);
    for (content, expected) in [
        (json!([image]), ToolResultOutput::error_json(json!([image]))),
        (words, ToolResultOutput::ErrorText("one\ntwo".into())),
        (json!(null), ToolResultOutput::ErrorText(String::new())),
    ] {
        let (events, warnings) = imported(&failed(&content).to_string()).await;
        assert_eq!(
            (&events[2], warnings),
            (&settled("a", "t", expected), vec![])
        );
    }
}

/// A long result is kept whole, as that of a call that ran here.
#[tokio::test]
async fn long_result_is_kept_whole() {
    let long = "x".repeat(60_000);
    let conversation = json!([
        {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "t", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "a", "content": long},
    ]);
    let transcript = read(&conversation.to_string());
    assert_eq!(transcript.blobs, [Blob::new(long.into_bytes())]);
    let Event::CallSettled { whole, .. } = &transcript.records[2].event else {
        panic!("{:?}", transcript.records[2]);
    };
    assert_eq!(*whole, Some(transcript.blobs[0].reference()));
}

#[test]
fn exported_session_is_no_conversation() {
    for text in ["", "{\"format\":\"agent-host-session\",\"version\":9}\n"] {
        assert!(Transcript::read(&mut text.as_bytes()).unwrap().is_none());
    }
}

#[test]
fn file_of_another_form_is_refused() {
    let known = "a conversation is a JSON array of messages, or an object with `messages`, in the format of the AI \
        SDK, OpenAI's Chat Completions or Anthropic";
    let table = [
        ("[{]", "key must be a string at line 1 column 3"),
        ("{}", "it has no `messages`"),
        ("7", "it is neither a list nor an object"),
        ("[]", "it has no messages"),
        (r#"{"messages": {}}"#, "its `messages` are not a list"),
    ];
    for (file, why) in table {
        let error = Transcript::read(&mut file.as_bytes())
            .unwrap_err()
            .to_string();
        let expected = format!(
            "it is neither a session from `sessions export` nor a conversation ({why}); {known}"
        );
        assert_eq!(error, expected);
    }
}

#[test]
fn message_of_another_form_is_named() {
    let call = json!({"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "t", "arguments": "{}"}}]});
    let result = json!({"role": "tool", "tool_call_id": "a", "content": "x"});
    let tool_result = |part: Value| json!({"role": "tool", "content": [part]});
    let part =
        json!({"type": "tool-result", "toolCallId": "a", "output": {"type": "words", "value": 1}});
    let table = [
        (
            json!([tool_result(json!({"type": "text", "text": "x"}))]),
            "message 0 of the conversation contains something other than results",
        ),
        (
            json!([{"role": "user", "content": [{"type": "tool_use", "id": "a", "name": "t", "input": {}}]}]),
            "message 0 of the conversation contains a call, which only a model can make",
        ),
        (
            json!([{"role": "assistant", "content": [{"type": "image_url", "image_url": {"url": "https://example.com/a"}}]}]),
            "message 0 of the conversation contains a file from the model, which no model accepts as input",
        ),
        (
            json!([{"role": "user", "content": [{"type": "video"}]}]),
            "message 0 of the conversation cannot be read (unknown variant `video`, expected one of `text`, `refusal`, `image`, `image_url`, `input_audio`, `document`, `file`, `tool-call`, `tool_use`, `tool-result`, `tool_result`, `reasoning`, `redacted-reasoning`, `redacted_thinking`, `thinking`, `tool-approval-request`, `tool-approval-response`)",
        ),
        (
            json!([{"role": "narrator", "content": "x"}]),
            "message 0 of the conversation cannot be read (unknown variant `narrator`, expected one of `developer`, `system`, `user`, `assistant`, `tool`)",
        ),
        (
            json!([{"role": "user", "content": "x"}, {"role": "system", "content": "y"}]),
            "message 1 of the conversation is a system prompt but not at the beginning",
        ),
        (
            json!([call, call]),
            "message 1 of the conversation has the id of an earlier call, `a`",
        ),
        (
            json!([call, result, result]),
            "message 2 of the conversation has a result for call `a`, which is not waiting for one",
        ),
        (
            json!([result]),
            "message 0 of the conversation has a result for call `a`, which is not waiting for one",
        ),
        (
            json!([tool_result(part)]),
            "message 0 of the conversation cannot be read (this is not a stored tool result: unknown variant \
             `words`, expected one of `text`, `json`, `content`, `error-text`, `error-json`, `execution-denied`; it \
             needs `result` and optionally `is_error`, or `type` and `value`)",
        ),
        (
            json!([{"role": "user", "content": [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "!"}}]}]),
            "message 0 of the conversation contains a file that is not base64 (Invalid symbol 33, offset 0.)",
        ),
    ];
    for (conversation, expected) in table {
        let text = conversation.to_string();
        let error = Transcript::read(&mut text.as_bytes())
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            format!("{expected}; nothing was stored; correct the message")
        );
    }
}
