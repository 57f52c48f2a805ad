#!/usr/bin/env bash
# rmcp 3.9.0, the client, with a server that reports the progress of a call.
#
# Guess: `ClientHandler::on_progress` is awaited for one notification before it is called for the
# next one, and for all of them before the call returns. One connection delivers them in order before
# the result, progress has to increase, and the method is async so that it may wait.
# Behaviour: each notification is handled in a task of its own. A method that waits for anything, such
# as room in a channel, sees later progress end before earlier, and its call return before both. On a
# runtime with several threads the methods also begin in another order.
# Seen, the values of progress in the order in which the method ended, and the call's result:
#   waits for nothing: 0 1 2 3 4 5 result
#   waits at even values: 1 3 5 result 0 2 4
#   begins out of order on 4 threads: true
#
# Needs Rust. Fails if the behaviour changes.
set -euo pipefail
self=$(realpath "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/src"
cd "$work"
cat > Cargo.toml <<'TOML'
[package]
name = "seen"
version = "0.0.0"
edition = "2024"

[dependencies]
rmcp = { version = "=3.9.0", default-features = false, features = ["client", "transport-async-rw"] }
serde_json = "1"
tokio = { version = "1", features = ["io-util", "macros", "rt-multi-thread", "sync", "time"] }
TOML
cat > src/main.rs <<'RS'
use rmcp::{
    ClientHandler, RoleClient, ServiceExt,
    model::{CallToolRequestParams, ProgressNotificationParam},
    service::NotificationContext,
};
use serde_json::{Value, json};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex, split};

/// Answers `initialize`, and the call of a tool after `count` notifications of its progress.
async fn serve(stream: DuplexStream, count: u32) {
    let (reader, mut writer) = split(stream);
    let mut lines = BufReader::new(reader).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let message: Value = serde_json::from_str(&line).unwrap();
        let (Some(id), params) = (message.get("id"), &message["params"]) else {
            continue;
        };
        let reply = |result| json!({"jsonrpc": "2.0", "id": id, "result": result});
        let mut text = String::new();
        let answer = match message["method"].as_str() {
            Some("initialize") => reply(json!({
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "s", "version": "1"},
            })),
            Some("tools/call") => {
                for progress in 0..count {
                    let token = &params["_meta"]["progressToken"];
                    let params = json!({"progressToken": token, "progress": progress});
                    let method = "notifications/progress";
                    let told = json!({"jsonrpc": "2.0", "method": method, "params": params});
                    text += &format!("{told}\n");
                }
                reply(json!({"content": []}))
            }
            _ => json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "none"}}),
        };
        text += &format!("{answer}\n");
        writer.write_all(text.as_bytes()).await.unwrap();
    }
}

#[derive(Clone)]
struct Handler {
    waits: bool,
    begun: Arc<Mutex<Vec<u32>>>,
    ended: Arc<Mutex<Vec<String>>>,
}

impl ClientHandler for Handler {
    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        let value = params.progress as u32;
        self.begun.lock().unwrap().push(value);
        if self.waits && value % 2 == 0 {
            tokio::time::sleep(Duration::from_millis(500 + u64::from(value) * 100)).await;
        }
        self.ended.lock().unwrap().push(value.to_string());
    }
}

async fn call(count: u32, waits: bool) -> Handler {
    let (ours, theirs) = duplex(1 << 20);
    tokio::spawn(serve(theirs, count));
    let (begun, ended) = Default::default();
    let handler = Handler { waits, begun, ended };
    let client = handler.clone().serve(ours).await.unwrap();
    client.call_tool(CallToolRequestParams::new("t")).await.unwrap();
    handler.ended.lock().unwrap().push("result".to_owned());
    while handler.ended.lock().unwrap().len() <= count as usize {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    handler
}

fn main() {
    let one = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for (waits, name) in [(false, "waits for nothing"), (true, "waits at even values")] {
        let handler = one.block_on(call(6, waits));
        println!("{name}: {}", handler.ended.lock().unwrap().join(" "));
    }
    let four = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build();
    let four = four.unwrap();
    let is_mixed = (0..50).any(|_| {
        let handler = four.block_on(call(2_000, false));
        let begun = handler.begun.lock().unwrap();
        !begun.is_sorted()
    });
    println!("begins out of order on 4 threads: {is_mixed}");
}
RS
cargo run --quiet > seen.txt
cat seen.txt
# What is seen is what the head of this file says.
sed -n 's/^#   //p' "$self" | diff - seen.txt
