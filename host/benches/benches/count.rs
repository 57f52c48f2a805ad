//! The instructions of a call: runs a number of calls, through the sandbox or with bare wasmtime,
//! without a pool and on one thread. The difference of two runs is the cost of the calls:
//!
//! `valgrind --tool=callgrind BENCH ours 1000` and `... ours 3000`, then with `bare`;
//! `cargo bench -p agent-host-benches --bench count --no-run` prints BENCH. Figures:
//! `host/BENCHMARKS.md`.

use agent_host_benches::{
    Work,
    bare::{bare, bare_call},
    sandboxed_call,
};
use agent_host_sandbox::{Pooling, Sandbox, SandboxConfig};
use std::hint::black_box;

/// The number of calls without arguments, as in a run of all benchmarks.
const CALLS: u32 = 100;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let calls = arguments
        .iter()
        .find_map(|argument| argument.parse().ok())
        .unwrap_or(CALLS);
    let ours = !arguments.iter().any(|argument| argument == "bare");
    let work = if arguments.iter().any(|argument| argument == "files") {
        Work::files().unwrap()
    } else {
        Work::echo()
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        if ours {
            let sandbox = Sandbox::new(SandboxConfig {
                pooling: Pooling::Off,
                ..SandboxConfig::default()
            })
            .unwrap();
            let tool = sandbox.load(&work.bytes).await.unwrap();
            for _ in 0..calls {
                black_box(sandboxed_call(&tool, &work).await);
            }
        } else {
            let pre = bare(&work.bytes, None);
            for _ in 0..calls {
                bare_call(&pre, &work).await;
            }
        }
    });
}
