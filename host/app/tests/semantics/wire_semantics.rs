//! Section U on a provider's API: the request that a server receives. The API is OpenAI's Chat
//! Completions, which has no flag for errors and no files in tool messages; other providers have
//! unit tests of their own.

use super::{
    components::{Component, returning},
    world::*,
};
use agent_host_test_guests::Body;
use agent_host_test_support::chat::{Answer, ChatServer};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\xff\xfb\xef\xff";
const PDF: &[u8] = b"%PDF-1.7\n";

/// The request's messages after the reply that called the tool, with these lines under
/// `[openai-compat]`.
async fn sent(component: Component, settings: &str) -> Vec<Value> {
    let server = ChatServer::start(vec![
        Answer::calls(&[(component.name, json!({}))]),
        Answer::text("I see."),
    ]);
    let settings = format!(
        "model = \"openai-compat:m\"\n[openai-compat]\nbase-url = \"{}\"\n{settings}",
        server.base_url
    );
    let mut world = World::wired(&settings, &[component]).await;
    assert_eq!(kind(&world.say("go").await), "needs-more-turns");
    assert_eq!(kind(&world.resume().await), "done");
    let messages = server.requests()[1]["messages"].as_array().unwrap().clone();
    let called = messages
        .iter()
        .position(|message| message["role"] == "assistant");
    messages[called.unwrap() + 1..].to_vec()
}

fn tool(content: &str) -> Value {
    json!({"role": "tool", "tool_call_id": "call_0", "content": content})
}

/// The user message that follows the results with a file of `draw`.
fn shows(file: &Value) -> Value {
    let name = json!({"type": "text", "text": "[file 1, from the result of `draw`, call call_0]"});
    json!({"role": "user", "content": [name, file]})
}

#[tokio::test]
async fn u06_error_is_marked_as_error() {
    let table = [
        (Body::Text(4, br#"{"code":7}"#), r#"{"error":{"code":7}}"#),
        (Body::Text(3, b"no"), r#"{"error":"no"}"#),
        // The same value as a success is no error.
        (Body::Text(1, br#"{"code":7}"#), r#"{"code":7}"#),
    ];
    for (body, expected) in table {
        assert_eq!(sent(returning("fail", body), "").await, [tool(expected)]);
    }
}

#[tokio::test]
async fn u07_denial_has_its_own_text() {
    let table = [
        (None, "Tool call execution denied."),
        (Some("not today"), "not today"),
    ];
    for (reason, expected) in table {
        let component = returning("deny", Body::Denied(reason));
        assert_eq!(sent(component, "").await, [tool(expected)]);
    }
}

#[tokio::test]
async fn u08_image_reaches_the_model_or_leaves_a_note() {
    let draw = || returning("draw", Body::Content("t", "image/png", PNG));
    let url = format!("data:image/png;base64,{}", STANDARD.encode(PNG));
    let image = json!({"type": "image_url", "image_url": {"url": url}});
    let natively = [
        tool("t\n[file 1: image/png, 12 bytes; it is in the user message after the tool results]"),
        shows(&image),
    ];
    assert_eq!(sent(draw(), "vision = true").await, natively);
    let note = "t\n[image/png, 12 bytes; its content cannot be shown to this model]";
    assert_eq!(sent(draw(), "vision = false").await, [tool(note)]);
}

#[tokio::test]
async fn u09_pdf_is_never_lost_silently() {
    let draw = || returning("draw", Body::Content("t", "application/pdf", PDF));
    let note = "t\n[application/pdf, 9 bytes; its content cannot be shown to this model]";
    assert_eq!(sent(draw(), "documents = false").await, [tool(note)]);
    let data = format!("data:application/pdf;base64,{}", STANDARD.encode(PDF));
    let document = json!({"type": "file", "file": {"filename": "document.pdf", "file_data": data}});
    let natively = [
        tool(
            "t\n[file 1: application/pdf, 9 bytes; it is in the user message after the tool results]",
        ),
        shows(&document),
    ];
    assert_eq!(sent(draw(), "documents = true").await, natively);
}
