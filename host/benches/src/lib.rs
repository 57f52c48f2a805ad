//! Parts that the benchmarks share: the tools to call, a sandboxed call, the same call with bare
//! wasmtime, and the program. Figures are in host/BENCHMARKS.md.

pub mod bare;
pub mod doubles;

use agent_host_engine::{
    arguments::Arguments,
    policy::{DirGrant, DirMode, Grants},
    tool::CallReport,
};
use agent_host_sandbox::{Call, CallContext, ToolComponent};
use agent_host_test_guests::Guest;
use agent_host_types::{id::CallId, limits::Limits, tool::Effect};
use serde_json::{Map, Value};
use std::{env, path::PathBuf, sync::Arc, time::Duration};

/// A directory of two entries on a local file system, granted to `files`.
pub const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src");

/// The call to measure.
pub struct Work {
    pub name: &'static str,
    pub bytes: Vec<u8>,
    pub tool: &'static str,
    pub input: Arguments,
    pub grants: Arc<Grants>,
    pub limits: Limits,
}

impl Work {
    /// A tool of a guest.
    pub fn new(name: &'static str, bytes: Vec<u8>, tool: &'static str) -> Self {
        Self {
            name,
            bytes,
            tool,
            input: Map::from_iter([("path".to_owned(), Value::from("."))]).into(),
            grants: Arc::default(),
            limits: Limits::default(),
        }
    }

    /// A guest that returns its arguments.
    pub fn echo() -> Self {
        Self::new("echo", Guest::default().bytes(), "echo")
    }

    /// An async function of a component of WASI 0.3, which opens no stream.
    pub fn concurrent() -> std::io::Result<Self> {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../tests/guests/dist/concurrent.wasm"
        );
        let input = Map::from_iter([("streams".to_owned(), Value::from(0))]);
        Ok(Self {
            input: input.into(),
            ..Self::new("concurrent", std::fs::read(path)?, "hoard")
        })
    }

    /// The built-in `files`, in Rust, that lists the directory of this source file.
    pub fn files() -> std::io::Result<Self> {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../guest-tools/dist/files.wasm"
        );
        let granted = Grants {
            dirs: vec![DirGrant::new(SOURCES, "/workspace", DirMode::ReadOnly)],
            ..Grants::default()
        };
        Ok(Self {
            grants: Arc::new(granted),
            ..Self::new("builtin files", std::fs::read(path)?, "list_directory")
        })
    }
}

/// One call through the sandbox.
pub async fn sandboxed_call(tool: &ToolComponent, work: &Work) -> CallReport {
    tool.call(Call {
        tool: work.tool,
        call_id: &CallId("call-1".to_owned()),
        input: &work.input,
        idempotency_key: "key-1",
        effect: Effect::ReadOnly,
        grants: Arc::clone(&work.grants),
        secrets: Arc::default(),
        limits: &work.limits,
        context: CallContext::default(),
        progress: &|_| {},
    })
    .await
    .settled()
    .unwrap()
}

/// Returns a quantile of sorted values.
pub fn percentile(sorted: &[Duration], part: f64) -> Duration {
    let last = sorted.len().saturating_sub(1);
    let index = (last as f64 * part).round() as usize;
    sorted.get(index).copied().unwrap_or_default()
}

/// Returns the path of the program, which `cargo build --release` has put beside the benchmarks.
pub fn program() -> PathBuf {
    let benchmark = env::current_exe().expect("the benchmark has a path");
    let directory = benchmark
        .ancestors()
        .nth(2)
        .expect("it is in a target directory");
    let program = directory.join("agent-host");
    assert!(
        program.exists(),
        "{} is missing: run `cargo build --release`",
        program.display()
    );
    program
}
