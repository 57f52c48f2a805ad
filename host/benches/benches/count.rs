//! The instructions of a call: runs a number of calls, through the sandbox or with bare wasmtime,
//! without a pool and on one thread. The difference of two runs is the cost of the calls:
//!
//! `valgrind --tool=callgrind BENCH ours 1000` and `... ours 3000`, then with `bare`;
//! `cargo bench -p agent-host-benches --bench count --no-run` prints BENCH. `files` calls the
//! built-in one, and `concurrent` an async function of WASI 0.3. Figures: `host/BENCHMARKS.md`.

use agent_host_benches::{
    Work,
    bare::{bare, bare_call},
    sandboxed_call,
};
use agent_host_sandbox::{Pooling, Sandbox, SandboxConfig, WasiVersion};
use std::hint::black_box;

/// The number of calls without arguments, as in a run of all benchmarks.
const CALLS: u32 = 100;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let calls = arguments
        .iter()
        .find_map(|argument| argument.parse().ok())
        .unwrap_or(CALLS);
    let is_bare = arguments.iter().any(|argument| argument == "bare");
    let is = |name: &str| arguments.iter().any(|argument| argument == name);
    let (work, wasi) = if is("files") {
        (Work::files().unwrap(), WasiVersion::V0_2)
    } else if is("concurrent") {
        (Work::concurrent().unwrap(), WasiVersion::V0_3)
    } else {
        (Work::echo(), WasiVersion::V0_2)
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        if !is_bare {
            let sandbox = Sandbox::new(SandboxConfig {
                pooling: Pooling::Off,
                wasi,
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
