//! Calls of servers with many behaviours, run as child processes: `tests/it/mcp_client/server.py`.

mod calls;
mod headers;
mod http_sse;
mod restart;
mod secrets;
mod start;

use crate::{McpServer, Reach, ServerCall, ServerCommand, ServerConfig};
use agent_host_engine::tool::ProgressSink;
use agent_host_types::{
    failure::{FailureFields, ToolErrorCode},
    output::ToolResultOutput,
};
use pretty_assertions::assert_eq;
use serde_json::Value;
use std::{num::NonZeroUsize, path::Path, sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;

/// Returns whether `python3` exists; without it the tests print a notice and pass.
fn python() -> bool {
    let found = std::process::Command::new("python3")
        .arg("--version")
        .output()
        .is_ok();
    if !found {
        eprintln!("skipped: no python3 on this machine, so the client was not tried with servers");
    }
    found
}

/// A server with this behaviour and generous timeouts.
fn config(behaviour: &str) -> ServerConfig {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/it/mcp_client");
    let path = std::env::var("PATH").unwrap_or_default();
    ServerConfig {
        name: "s".to_owned(),
        reach: Reach::Command(ServerCommand {
            program: "python3".to_owned(),
            args: vec!["server.py".to_owned(), behaviour.to_owned()],
            env: vec![("PATH".to_owned(), path.into())],
            directory,
            supervisor: None,
        }),
        connect_timeout: Duration::from_secs(120),
        deadline: Duration::from_secs(120),
        concurrent_calls: NonZeroUsize::MIN,
        output_bytes: 1_000,
        tools: None,
        read_only: ["act".to_owned()].into(),
        secrets: Arc::default(),
        roots: Vec::new(),
        elicitor: None,
    }
}

async fn call(server: &McpServer, input: Value) -> ToolResultOutput {
    call_with_progress(server, input, &|_| {}).await
}

async fn call_with_progress(
    server: &McpServer,
    input: Value,
    progress: ProgressSink<'_>,
) -> ToolResultOutput {
    let Value::Object(input) = input else {
        panic!("{input}");
    };
    let cancel = CancellationToken::new();
    let call = ServerCall {
        tool: "s_act",
        input,
        agent_depth: 0,
        traceparent: None,
        progress,
    };
    let report = server.call_until(call, &cancel).await;
    report.output
}

/// A call without arguments.
fn empty(tool: &str) -> ServerCall<'_> {
    ServerCall {
        tool,
        input: serde_json::Map::new(),
        agent_depth: 0,
        traceparent: None,
        progress: &|_| {},
    }
}

async fn call_tool(server: &McpServer, tool: &str) -> ToolResultOutput {
    let cancel = CancellationToken::new();
    let report = server.call_until(empty(tool), &cancel).await;
    report.output
}

fn did_it() -> ToolResultOutput {
    ToolResultOutput::Text("did it".to_owned())
}

/// The expected result of a call, or its error code and a part of the message.
type ExpectedCall = Result<ToolResultOutput, (ToolErrorCode, &'static str)>;

fn holds(behaviour: &str, output: ToolResultOutput, expected: ExpectedCall) {
    match expected {
        Ok(expected) => assert_eq!(output, expected, "{behaviour}"),
        Err((code, says)) => {
            let ToolResultOutput::ErrorJson(failure) = output else {
                panic!("{behaviour}: {output:?}");
            };
            let FailureFields { code: got, message } = FailureFields::from_json(&failure).unwrap();
            assert_eq!(got, code.as_str(), "{behaviour}: {failure}");
            assert!(message.contains(says), "{behaviour}: {message}");
        }
    }
}
