//! Secrets of a server: in what it sends, and in its configuration.

use super::{call, call_with_progress, config, did_it, holds, python};
use crate::{McpServer, Reach, ServerConfig};
use agent_host_engine::{secrets::Secrets, tool::CallUpdate};
use agent_host_types::{
    failure::ToolErrorCode,
    output::{ContentPart, FileData, FilePart, ToolResultOutput},
};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::sync::{Arc, Mutex};

/// A server that has a token in its environment and echoes it.
fn echoing() -> ServerConfig {
    let token = "tok-/8#correct-horses";
    let mut config = config("echoes");
    if let Reach::Command(command) = &mut config.reach {
        command.env.push(("API_TOKEN".to_owned(), token.into()));
    }
    let secrets = Secrets::new([("s.token".to_owned(), token.into())].into());
    ServerConfig {
        output_bytes: 10_000,
        secrets: Arc::new(secrets.unwrap()),
        ..config
    }
}

#[tokio::test]
async fn echoed_token_is_redacted_everywhere() {
    if !python() {
        return;
    }
    const MARK: &str = "[secret:s.token]";
    let server = McpServer::connect(echoing()).await.unwrap();
    let description = &server.definitions()[0].description;
    assert_eq!(description, &format!("Acts with {MARK}."));
    let file = |data, filename: Option<&str>| {
        ToolResultOutput::Content(vec![ContentPart::File(FilePart {
            media_type: "text/plain".to_owned(),
            data,
            filename: filename.map(str::to_owned),
        })])
    };
    let told = Mutex::new(Vec::new());
    let progress = |update: CallUpdate<'_>| {
        let CallUpdate::Progress { message, .. } = update else {
            panic!("{update:?}");
        };
        told.lock().unwrap().push(message.to_owned());
    };
    let cases = [
        ("text", Ok(ToolResultOutput::Text([MARK; 3].join(" ")))),
        (
            "structured",
            Ok(ToolResultOutput::json(
                json!({ MARK: [MARK], "data": MARK }),
            )),
        ),
        (
            "file",
            Ok(file(
                FileData::Bytes(format!("<{MARK}>").into_bytes()),
                Some(&format!("file:///{MARK}")),
            )),
        ),
        (
            "error",
            Ok(ToolResultOutput::ErrorText(format!(
                "The MCP server `s` refused the call: no {MARK} (code -32602)"
            ))),
        ),
        ("progress", Ok(did_it())),
        (
            "death",
            Err((
                ToolErrorCode::ToolUnavailable,
                "its last line on stderr was: cannot use [secret:s.token]. Whether",
            )),
        ),
    ];
    for (how, expected) in cases {
        let output = call_with_progress(&server, json!({ "how": how }), &progress).await;
        holds(how, output, expected);
    }
    assert_eq!(told.into_inner().unwrap(), [format!("with {MARK}")]);
    // A truncated text contains no part of it either.
    let output = call(&server, json!({ "how": "unknown" })).await;
    let ToolResultOutput::Text(shown) = output else {
        panic!("{output:?}");
    };
    assert!(
        shown.contains("[secret") && !shown.contains("tok-"),
        "{shown}"
    );
}

#[test]
fn server_config_debug_omits_environment_values() {
    let shown = format!("{:?}", echoing());
    assert!(shown.contains("API_TOKEN"), "{shown}");
    assert!(!shown.contains("correct-horses"), "{shown}");
}
