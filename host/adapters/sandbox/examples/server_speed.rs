//! Compares a call of an MCP server in the sandbox with one of the same server as a process:
//!
//! ```text
//! (cd guest-tools && cargo build --release -p agent-tool-mcp-server)
//! cargo run --release -p agent-host-sandbox --example server_speed -- \
//!     tests/guests/dist/mcp-server.wasm guest-tools/target/release/agent_tool_mcp_server
//! ```
//!
//! Each call is one line to the server and one line back; the two take turns, round by round.

#![expect(
    clippy::print_stdout,
    reason = "a program of its own: what it measures is its answer"
)]

use agent_host_process::{Child, ChildKind};
use agent_host_sandbox::{ProgramIo, ProgramUse, Sandbox, SandboxConfig};
use agent_host_types::limits::Limits;
use std::{
    error::Error,
    path::PathBuf,
    process::{Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};

const CALL: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello"}}}
"#;
const ROUNDS: usize = 20;
const CALLS: usize = 500;
const AGE: Duration = Duration::from_secs(3_600);

/// Returns the median of the times of some calls.
async fn median(
    input: &mut (impl AsyncWrite + Unpin),
    output: &mut BufReader<impl AsyncRead + Unpin>,
) -> Result<Duration, Box<dyn Error>> {
    let mut times = Vec::with_capacity(CALLS);
    let mut line = String::new();
    for _ in 0..CALLS {
        line.clear();
        let began = Instant::now();
        input.write_all(CALL).await?;
        input.flush().await?;
        output.read_line(&mut line).await?;
        times.push(began.elapsed());
        if !line.contains("hello") {
            return Err(format!("a wrong answer: {line}").into());
        }
    }
    times.sort();
    Ok(times.get(CALLS / 2).copied().unwrap_or_default())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(component), Some(program)) = (args.next(), args.next()) else {
        return Err("usage: server_speed COMPONENT PROGRAM".into());
    };
    let sandbox = Sandbox::new(SandboxConfig::default())?;
    let server = sandbox.load_program(component, &|_| {}).await?;
    let sandboxed = server.serve(ProgramUse {
        name: "speed".to_owned(),
        grants: Arc::default(),
        secrets: Arc::default(),
        limits: Limits::default(),
        idle: AGE,
        lifetime: AGE,
    })?;
    let ProgramIo::Streams(mut sandboxed_input, sandboxed_output) = sandboxed.io else {
        return Err("the component has no main function".into());
    };
    let mut sandboxed_output = BufReader::new(sandboxed_output);
    let mut command = Command::new(program);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let (_process, pipes) = Child::spawn(command, ChildKind::Service).await?;
    let mut input = pipes.input.ok_or("it has no input")?;
    let mut output = BufReader::new(pipes.output.ok_or("it has no output")?);
    let mut ratios = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let in_sandbox = median(&mut sandboxed_input, &mut sandboxed_output).await?;
        let as_process = median(&mut input, &mut output).await?;
        ratios.push((
            in_sandbox.as_secs_f64() / as_process.as_secs_f64(),
            in_sandbox,
            as_process,
        ));
    }
    ratios.sort_by(|one, other| one.0.total_cmp(&other.0));
    let (ratio, in_sandbox, as_process) = ratios.get(ROUNDS / 2).copied().unwrap_or_default();
    println!("in the sandbox {in_sandbox:?}, as a process {as_process:?}: {ratio:.2}x");
    Ok(())
}
