//! Servers that start slowly or differently: the script `tests/it/mcp_client/starts.py`.

use super::{call, config, did_it, holds, python};
use crate::{McpServer, Reach, ServerConfig, handshake::refuses_initialize};
use agent_host_types::failure::ToolErrorCode;
use pretty_assertions::assert_eq;
use rmcp::{
    model::{ErrorCode, ErrorData},
    service::ClientInitializeError,
};
use rustix::fs::{CWD, Mode, mkfifoat};
use serde_json::json;
use std::{fs, path::Path, time::Duration};

/// The server of these starts, which counts them in `directory`.
fn starts(how: &str, directory: &Path) -> ServerConfig {
    let mut config = config("unused");
    if let Reach::Command(command) = &mut config.reach {
        let directory = directory.display().to_string();
        command.args = vec!["starts.py".to_owned(), how.to_owned(), directory];
    }
    config
}

fn count(directory: &Path) -> usize {
    let starts = fs::read_to_string(directory.join("starts")).unwrap();
    starts.lines().count()
}

/// A call that does not wait for a slow start says that nothing was sent, and a later one finds
/// the server connected: the attempt continues without the call.
#[tokio::test]
async fn slow_restart_outlives_the_call_that_needed_it() {
    if !python() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let gate = directory.path().join("gate");
    mkfifoat(CWD, &gate, Mode::RUSR | Mode::WUSR).unwrap();
    let hasty = ServerConfig {
        deadline: Duration::from_secs(5),
        ..starts("waits", directory.path())
    };
    let server = McpServer::connect(hasty).await.unwrap();
    let died = call(&server, json!({"die": true})).await;
    let unknown = "Whether the call took effect is not known";
    holds(
        "waits",
        died,
        Err((ToolErrorCode::ToolUnavailable, unknown)),
    );

    let says = "did not start: it was not ready within 5000 ms. The call was not sent, so it did not run and can be \
        repeated.";
    let late = call(&server, json!({})).await;
    holds("waits", late, Err((ToolErrorCode::ToolUnavailable, says)));

    // Returns once the server opened it to read.
    let opened = tokio::task::spawn_blocking(|| fs::write(gate, "start"));
    opened.await.unwrap().unwrap();
    assert_eq!(call(&server, json!({})).await, did_it());
    assert_eq!(count(directory.path()), 2);
}

/// The other lifecycle is negotiated on a connection of its own.
#[tokio::test]
async fn refused_initialize_leads_to_discover_on_a_new_connection() {
    if !python() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let server = McpServer::connect(starts("modern", directory.path())).await;
    let server = server.unwrap();
    assert_eq!(server.version().await.as_deref(), Some("2026-07-28"));
    assert_eq!(call(&server, json!({})).await, did_it());
    assert_eq!(count(directory.path()), 2);
}

#[test]
fn only_an_unsupported_version_leads_to_discover() {
    let refused = |code| {
        let error = ErrorData::new(ErrorCode(code), "no", None);
        ClientInitializeError::JsonRpcError(error)
    };
    let both = |code| ClientInitializeError::LegacyFallbackFailed {
        discover: Box::new(refused(-32601)),
        fallback: Box::new(refused(code)),
    };
    let cases = [
        (refused(-32022), true),
        (both(-32022), true),
        (refused(-32601), false),
        (both(-32602), false),
        (ClientInitializeError::ExpectedInitResult(None), false),
    ];
    for (error, leads) in cases {
        assert_eq!(refuses_initialize(&error), leads, "{error}");
    }
}
