//! The transport under `rmcp`'s service, with a minimal handler.

mod bad_lines;
mod pressure;

use super::StdioTransport;
use pretty_assertions::assert_eq;
use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock},
    service::{RequestContext, serve_server},
};
use serde_json::{Value, json};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{
    io::{
        AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader, DuplexStream,
    },
    sync::Semaphore,
    task::JoinHandle,
};

/// How long a test waits for a message before it fails.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Answers calls with their tool's name once `gate` has a permit; those of `open` at once.
#[derive(Clone)]
struct Double {
    gate: Arc<Semaphore>,
    running: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

impl Double {
    /// Lets `calls` calls through.
    fn letting(calls: usize) -> Self {
        Self {
            gate: Arc::new(Semaphore::new(calls)),
            running: Arc::default(),
            most: Arc::default(),
        }
    }
}

impl ServerHandler for Double {
    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let running = self.running.fetch_add(1, Ordering::Relaxed) + 1;
        self.most.fetch_max(running, Ordering::Relaxed);
        tokio::select! {
            () = std::future::ready(()), if request.name == "open" => {}
            permit = self.gate.acquire() => permit.unwrap().forget(),
            () = context.ct.cancelled() => {}
        }
        self.running.fetch_sub(1, Ordering::Relaxed);
        Ok(CallToolResult::success(vec![ContentBlock::text(request.name)]).into())
    }
}

/// Sends a notification and waits until it is sent before it answers a call.
struct Talkative;

impl ServerHandler for Talkative {
    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        context.peer.notify_tool_list_changed().await.unwrap();
        Ok(CallToolResult::success(vec![ContentBlock::text(request.name)]).into())
    }
}

/// Serves until the connection ends.
fn serve<H, R, W>(handler: H, input: R, output: W) -> JoinHandle<()>
where
    H: ServerHandler,
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    tokio::spawn(async move {
        let running = serve_server(handler, StdioTransport::new(input, output)).await;
        running.unwrap().waiting().await.unwrap();
    })
}

/// A client that sends what a test tells it to.
struct Client {
    to: DuplexStream,
    from: BufReader<DuplexStream>,
    served: JoinHandle<()>,
}

impl Client {
    fn start(handler: impl ServerHandler) -> Self {
        let (to, input) = tokio::io::duplex(64 * 1024);
        let (output, from) = tokio::io::duplex(64 * 1024);
        Self {
            to,
            from: BufReader::new(from),
            served: serve(handler, input, output),
        }
    }

    async fn send(&mut self, line: impl AsRef<[u8]>) {
        self.to.write_all(line.as_ref()).await.unwrap();
        self.to.write_all(b"\n").await.unwrap();
    }

    /// Reads the next message.
    async fn next(&mut self) -> Value {
        let mut line = String::new();
        let read = tokio::time::timeout(TIMEOUT, self.from.read_line(&mut line));
        assert_ne!(read.await.unwrap().unwrap(), 0, "the server is gone");
        serde_json::from_str(&line).unwrap()
    }

    async fn initialize(&mut self) {
        self.send(initialize().to_string()).await;
        assert_eq!(self.next().await["id"], "init");
    }

    /// Closes the input, and returns the messages that still come until the server has ended.
    async fn close(self) -> Vec<Value> {
        let Self { to, from, served } = self;
        drop(to);
        let mut messages = Vec::new();
        let mut lines = from.lines();
        while let Some(line) = lines.next_line().await.unwrap() {
            messages.push(serde_json::from_str(&line).unwrap());
        }
        tokio::time::timeout(TIMEOUT, served)
            .await
            .unwrap()
            .unwrap();
        messages
    }
}

#[tokio::test]
async fn call_that_notifies_after_the_input_ends_is_answered() {
    let mut client = Client::start(Talkative);
    client.initialize().await;
    client.send(call(1).to_string()).await;
    let changed = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
    assert_eq!(client.close().await, [changed, result(1)]);
}

fn initialize() -> Value {
    json!({
        "jsonrpc": "2.0",
        "id": "init",
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        },
    })
}

fn ping(id: impl Into<Value>) -> Value {
    json!({ "jsonrpc": "2.0", "id": id.into(), "method": "ping" })
}

fn pong(id: impl Into<Value>) -> Value {
    json!({ "jsonrpc": "2.0", "id": id.into(), "result": {} })
}

fn call(id: usize) -> Value {
    call_of("echo", id)
}

fn call_of(tool: &str, id: usize) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": tool } })
}

fn result(id: usize) -> Value {
    let content = json!([{ "type": "text", "text": "echo" }]);
    json!({ "jsonrpc": "2.0", "id": id, "result": { "content": content, "isError": false } })
}
