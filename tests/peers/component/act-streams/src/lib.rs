//! The functions of `guest-tools/concurrent` that have no end, as tools of a component of ACT. They
//! are written without its SDK, which collects a stream before it writes it.

#![cfg(target_family = "wasm")]
#![expect(
    unsafe_code,
    reason = "generated bindings export functions by their names"
)]

use futures_util::future::join_all;
use serde::Deserialize;
use wasip3::{clocks::monotonic_clock, wit_bindgen::spawn_local};

mod generated {
    wasip3::wit_bindgen::generate!({
        world: "component-world",
        path: "wit",
        runtime_path: "wasip3::wit_bindgen::rt",
        generate_all,
    });
}

use generated::act::core::types::{Error, LocalizedString};
use generated::act::tools::types::{ContentPart, ListToolsResponse, ToolDefinition, ToolEvent};
use generated::exports::act::tools::tool_provider::{Guest, ToolResult};
use generated::{export, wit_stream};

/// The tools, and their parameters in JSON Schema.
const TOOLS: [(&str, &str); 5] = [
    ("echo", r#""text":{"type":"string"}"#),
    ("endless", ""),
    ("hoard", r#""streams":{"type":"integer"}"#),
    (
        "nap",
        r#""times":{"type":"integer"},"ms":{"type":"integer"}"#,
    ),
    ("stuck", ""),
];

/// The bytes of one part of the endless stream.
const CHUNK_BYTES: usize = 16 * 1024;

type Metadata = Vec<(String, Vec<u8>)>;

/// The arguments of all tools.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Arguments {
    text: String,
    streams: u32,
    times: u32,
    ms: u64,
}

struct Streams;

impl Guest for Streams {
    async fn list_tools(_: Metadata) -> Result<ListToolsResponse, Error> {
        let tools = TOOLS.map(|(name, parameters)| ToolDefinition {
            name: name.to_owned(),
            description: LocalizedString::Plain(name.to_owned()),
            parameters_schema: format!(r#"{{"type":"object","properties":{{{parameters}}}}}"#),
            // A deadline of 2,000 ms, in CBOR.
            metadata: vec![("std:timeout-ms".to_owned(), vec![0x19, 0x07, 0xd0])],
        });
        Ok(ListToolsResponse {
            metadata: Vec::new(),
            tools: tools.into(),
        })
    }

    async fn call_tool(name: String, arguments: Vec<u8>, _: Metadata) -> ToolResult {
        let Arguments {
            text,
            streams,
            times,
            ms,
        } = ciborium::from_reader(arguments.as_slice()).unwrap_or_default();
        let text = match name.as_str() {
            "endless" => return endless(),
            "hoard" => hoard(streams),
            "nap" => nap(times, ms).await,
            "stuck" => stuck().await,
            _ => format!("peers-version-1:{text}"),
        };
        ToolResult::Immediate(vec![content(text.into_bytes())])
    }
}

fn content(data: Vec<u8>) -> ToolEvent {
    ToolEvent::Content(ContentPart {
        data,
        mime_type: Some("text/plain".to_owned()),
        metadata: Vec::new(),
    })
}

/// Returns a stream that has no end.
fn endless() -> ToolResult {
    let (mut writer, reader) = wit_stream::new();
    spawn_local(async move {
        let chunk = || vec![content(vec![b'.'; CHUNK_BYTES])];
        while writer.write_all(chunk()).await.is_empty() {}
    });
    ToolResult::Streaming(reader)
}

/// Opens streams, and keeps them.
fn hoard(streams: u32) -> String {
    let kept: Vec<_> = (0..streams)
        .map(|_| wit_stream::new::<ToolEvent>())
        .collect();
    kept.len().to_string()
}

/// Sleeps that many times at once, and returns the whole time in milliseconds.
async fn nap(times: u32, ms: u64) -> String {
    let started = monotonic_clock::now();
    join_all((0..times).map(|_| monotonic_clock::wait_for(ms * 1_000_000))).await;
    ((monotonic_clock::now() - started) / 1_000_000).to_string()
}

/// Waits for a stream that is never written.
async fn stuck() -> String {
    let (writer, reader) = wit_stream::new::<ToolEvent>();
    let events = reader.collect().await;
    drop(writer);
    events.len().to_string()
}

export!(Streams with_types_in generated);
