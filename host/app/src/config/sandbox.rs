//! `[sandbox]`: the sandbox as a whole.

use super::section::{section, values};
use agent_host_sandbox::{CompileLimits, Pooling, SandboxConfig, WasiVersion};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

section! {
    /// `[sandbox]`.
    #[derive(Copy, Default, Eq)]
    #[serde(default)]
    pub(super) struct RawSandbox {
        /// The maximum number of concurrent calls.
        concurrent_calls: Option<usize> = SandboxConfig::default().concurrent_calls => at_most;
        /// The maximum number of queued calls.
        queued_calls: Option<usize> = SandboxConfig::default().queued_calls => at_most;
        /// The maximum number of concurrent calls of one tool.
        concurrent_calls_per_tool: Option<usize> => at_most(concurrent_calls_per_tool());
        /// The maximum number of queued calls of one tool.
        queued_calls_per_tool: Option<usize> => at_most(SandboxConfig::default().queued_calls / 2);
        /// The memory for all results that are being converted at the same time, in bytes.
        result_memory_bytes: Option<usize>, in bytes
            = SandboxConfig::default().result_memory_bytes => at_most;
        /// The number of guest threads.
        guest_threads: Option<usize> = SandboxConfig::default().guest_threads => at_most;
        /// The use of the pooling allocator.
        // Without a pool, calls are slower and as limited as with it.
        pooling: RawPooling => pinned;
        /// The newest WASI that components may use.
        // 0.3 runs async functions, streams and futures; its implementation is young.
        wasi: Option<RawWasi> = RawWasi::V0_2 => asks(Other, "lets components use WASI {value}");
        /// The address space of the compiling process, in bytes.
        compile_memory_bytes: Option<usize>, in bytes
            = CompileLimits::default().memory_bytes => at_most;
        /// The CPU time of the compiling process.
        compile_cpu_seconds: Option<usize>, in seconds
            = CompileLimits::default().cpu_seconds => at_most;
        /// The wall-clock time of the compiling process.
        compile_deadline_ms: Option<usize>, in milliseconds
            = CompileLimits::default().deadline_ms => at_most;
    }
}

/// `pooling`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawPooling {
    /// If the machine has the address space for it.
    #[default]
    Probe,
    /// Never.
    Off,
}

values!(RawPooling);

/// `wasi`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub(super) enum RawWasi {
    /// WASI 0.2.
    #[default]
    #[serde(rename = "0.2")]
    V0_2,
    /// WASI 0.3 and 0.2.
    #[serde(rename = "0.3")]
    V0_3,
}

values!(RawWasi);

/// Returns the default of the concurrent calls of one tool: half of all.
pub(super) fn concurrent_calls_per_tool() -> usize {
    SandboxConfig::default().concurrent_calls / 2
}

/// Resolves the section.
pub(super) fn resolve(raw: RawSandbox, cache_bytes: u64) -> SandboxConfig {
    SandboxConfig {
        cache_bytes,
        concurrent_calls: raw.concurrent_calls(),
        queued_calls: raw.queued_calls(),
        concurrent_calls_per_tool: raw.concurrent_calls_per_tool,
        queued_calls_per_tool: raw.queued_calls_per_tool,
        result_memory_bytes: raw.result_memory_bytes(),
        guest_threads: raw.guest_threads(),
        pooling: match raw.pooling {
            RawPooling::Probe => Pooling::Probe,
            RawPooling::Off => Pooling::Off,
        },
        wasi: match raw.wasi() {
            RawWasi::V0_2 => WasiVersion::V0_2,
            RawWasi::V0_3 => WasiVersion::V0_3,
        },
        compile_limits: CompileLimits {
            memory_bytes: raw.compile_memory_bytes(),
            cpu_seconds: raw.compile_cpu_seconds(),
            deadline_ms: raw.compile_deadline_ms(),
        },
        ..SandboxConfig::default()
    }
}
