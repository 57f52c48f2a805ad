use super::*;
use agent_host_types::{
    id::CallId,
    message::{Role, ToolResult},
    output::{Blob, ContentPart, FileData, FilePart, ToolResultOutput},
    tool::ToolCall,
};
use pretty_assertions::assert_eq;
use serde_json::json;

/// Messages of every form, with values that a JSON text could lose.
fn message(n: usize) -> Message {
    let call_id = CallId(format!("call_{n}"));
    match n % 4 {
        0 => Message::text(Role::User, format!("ünïcode \u{0} \u{1F980} {n}")),
        1 => {
            let data = FileData::Blob(Blob::new(n.to_le_bytes().to_vec()).reference());
            let file = FilePart {
                media_type: "image/png".into(),
                data,
                filename: Some("a".into()),
            };
            Message::parts(Role::User, vec![ContentPart::File(file)])
        }
        2 => {
            let mut message = Message::text(Role::Assistant, "");
            let arguments = json!({ "n": n, "x": 0.1 + 0.2, "deep": [[null]] }).to_string();
            message.tool_calls = vec![
                ToolCall::parse(call_id.clone(), "t".into(), format!(" {arguments}")),
                ToolCall::parse(call_id, "t".into(), "no JSON".into()),
            ];
            message.metadata = json!({ "p": { "n": u64::MAX } })
                .as_object()
                .unwrap()
                .clone();
            message
        }
        _ => {
            let output = ToolResultOutput::json(json!({ "type": "text", "value": 5e-324, "n": n }));
            Message::results(vec![ToolResult {
                call_id,
                name: "t".into(),
                output,
                whole: None,
            }])
        }
    }
}

/// A conversation of any length keeps every message, and its end is in memory.
#[test]
fn long_conversation_is_kept_whole() {
    let mut history = History::default();
    let mut all = Vec::new();
    for n in 0..5 * CHUNK + 7 {
        all.push(message(n));
        history.push(message(n));
        assert_eq!(history.len(), all.len());
        assert!(all.ends_with(history.end()), "{n}");
        assert!(history.end().len() >= CHUNK.min(all.len()), "{n}");
        assert!(history.end().len() < 2 * CHUNK, "{n}");
    }
    assert_eq!(history.older.len(), 4);
    assert_eq!(history.all().unwrap(), all);
}
