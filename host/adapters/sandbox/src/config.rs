//! The settings of a sandbox. The limits of a call are not here: they come with the call.

use crate::error::SandboxError;
use std::{
    ffi::OsString, num::NonZeroUsize, ops::RangeInclusive, path::PathBuf, thread, time::Duration,
};

/// The bound on concurrent calls. Each takes about 8 GiB of address space in the pool, and a
/// process has 128 TiB.
const CONCURRENT_CALLS: RangeInclusive<usize> = 1..=1_024;

const QUEUED_CALLS: RangeInclusive<usize> = 0..=65_536;

const GUEST_THREADS: RangeInclusive<usize> = 1..=256;

/// The bounds on the memory of results, in bytes: less holds no result that is counted at all.
const RESULT_MEMORY_BYTES: RangeInclusive<usize> = 1024 * 1024..=64 * 1024 * 1024 * 1024;

/// The bounds on a guest's stack, in bytes: no language runtime fits into less, and none uses more.
const STACK_BYTES: RangeInclusive<usize> = 64 * 1024..=8 * 1024 * 1024;

/// The bounds on the compile limits: the compiler does not start below them, and more is no limit.
const COMPILE_MEMORY_BYTES: RangeInclusive<usize> = 128 * 1024 * 1024..=64 * 1024 * 1024 * 1024;
const COMPILE_CPU_SECONDS: RangeInclusive<usize> = 1..=3_600;
const COMPILE_DEADLINE_MS: RangeInclusive<usize> = 10..=3_600_000;

/// The settings of a sandbox. The default suits one user on one machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxConfig {
    /// The directory of the compile cache, created with mode 0700; `None` for no cache.
    pub cache_dir: Option<PathBuf>,
    /// The bound on the compile cache, in bytes. The least recently used components beyond it are
    /// removed; with zero, none is kept.
    pub cache_bytes: u64,
    /// Files and directories that no guest reaches, whatever is granted: state, configuration,
    /// lock.
    pub protected: Vec<PathBuf>,
    /// The number of threads on which guests start, and of those for long-running guests.
    pub guest_threads: usize,
    /// The number of concurrent calls and of slots in the pool. The last quarter is reserved for
    /// tools with no running call, or less if [`field@Self::concurrent_calls_per_tool`] leaves
    /// less.
    pub concurrent_calls: usize,
    /// The number of calls that may wait; one more is refused with `busy`.
    pub queued_calls: usize,
    /// The number of concurrent calls of one tool; `None` for half of all.
    pub concurrent_calls_per_tool: Option<usize>,
    /// The number of waiting calls of one tool; `None` for half of all.
    pub queued_calls_per_tool: Option<usize>,
    /// The memory of all results that are being converted at once, in bytes; one tool takes at most
    /// half of it. A call whose result does not fit waits for others; one that never fits ends with
    /// `output-too-large`. Results of at most 16 KiB are not counted.
    pub result_memory_bytes: usize,
    /// Whether instances come from a pool.
    pub pooling: Pooling,
    /// The stack of one guest, in bytes.
    pub stack_bytes: usize,
    /// The least time between two progress reports of a call; reports in between are dropped.
    pub progress_interval: Duration,
    /// The program that compiles components in a child process. With `None` they are compiled in
    /// this process without limits, and a component can keep the compiler busy for very long.
    pub compiler: Option<CompileWorker>,
    /// The limits of compiling one component, if there is a [`Self::compiler`].
    pub compile_limits: CompileLimits,
    /// The newest WASI that components may use.
    pub wasi: WasiVersion,
}

/// A version of WASI, and of the component model that it stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum WasiVersion {
    /// 0.2: functions of a component run one at a time. Its async functions are left out.
    V0_2,
    /// 0.3, too: async functions, streams and futures. wasmtime 48 calls its implementation of 0.3
    /// not ready for production, and publishes no security releases for faults in it.
    V0_3,
}

impl WasiVersion {
    pub(crate) const ALL: [Self; 2] = [Self::V0_2, Self::V0_3];
}

/// Whether instances come from a pool of reserved address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// Use a pool unless the address space is limited (`ulimit -v`).
    Probe,
    /// Reserve nothing: slower calls, little address space.
    Off,
}

/// The program that compiles in a child process: it calls [`crate::compile_worker`] with the
/// arguments that follow these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileWorker {
    /// The program. It inherits no environment and runs in `/`.
    pub exe: PathBuf,
    /// Its first arguments.
    pub args: Vec<OsString>,
}

/// The limits of compiling one component with a [`CompileWorker`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompileLimits {
    /// The child's address space, in bytes.
    pub memory_bytes: usize,
    /// Processor time over all of the child's threads, in seconds.
    pub cpu_seconds: usize,
    /// Wall time, in milliseconds.
    pub deadline_ms: usize,
}

impl Default for CompileLimits {
    fn default() -> Self {
        Self {
            memory_bytes: 2 * 1024 * 1024 * 1024,
            cpu_seconds: 60,
            // On a busy machine the compiler, which is niced, gets a tenth of a processor.
            deadline_ms: 900_000,
        }
    }
}

impl Default for SandboxConfig {
    fn default() -> Self {
        Self {
            cache_dir: None,
            // Fifty components the size of Python's.
            cache_bytes: 2 * 1024 * 1024 * 1024,
            protected: Vec::new(),
            // At least two, so that a call starts while another computes its first slice.
            guest_threads: thread::available_parallelism()
                .map_or(2, NonZeroUsize::get)
                .clamp(2, *GUEST_THREADS.end()),
            concurrent_calls: 64,
            queued_calls: 256,
            concurrent_calls_per_tool: None,
            queued_calls_per_tool: None,
            result_memory_bytes: 256 * 1024 * 1024,
            pooling: Pooling::Probe,
            // Python's interpreter recurses deeper than wasmtime's default of 512 KiB allows.
            stack_bytes: 1024 * 1024,
            // No user reads faster, and a guest that reports in a loop must not keep its caller
            // busy.
            progress_interval: Duration::from_millis(20),
            compiler: None,
            compile_limits: CompileLimits::default(),
            wasi: WasiVersion::V0_2,
        }
    }
}

impl SandboxConfig {
    pub(crate) fn concurrent_calls_per_tool(&self) -> usize {
        let half = self.concurrent_calls.div_ceil(2);
        self.concurrent_calls_per_tool.unwrap_or(half)
    }

    /// The places for tools with no running call. Such a tool takes only one of them, so the first
    /// call of another tool never waits while fewer tools than this have running calls.
    pub(crate) fn reserved_calls(&self) -> usize {
        let left_by_one_tool = self
            .concurrent_calls
            .saturating_sub(self.concurrent_calls_per_tool());
        (self.concurrent_calls / 4).min(left_by_one_tool)
    }

    pub(crate) fn queued_calls_per_tool(&self) -> usize {
        let half = self.queued_calls.div_ceil(2);
        self.queued_calls_per_tool.unwrap_or(half)
    }

    pub(crate) fn check(&self) -> Result<(), SandboxError> {
        let CompileLimits {
            memory_bytes,
            cpu_seconds,
            deadline_ms,
        } = self.compile_limits;
        let bounds = [
            ("guest_threads", self.guest_threads, GUEST_THREADS),
            ("concurrent_calls", self.concurrent_calls, CONCURRENT_CALLS),
            ("queued_calls", self.queued_calls, QUEUED_CALLS),
            (
                "concurrent_calls_per_tool",
                self.concurrent_calls_per_tool(),
                CONCURRENT_CALLS,
            ),
            (
                "queued_calls_per_tool",
                self.queued_calls_per_tool(),
                QUEUED_CALLS,
            ),
            (
                "result_memory_bytes",
                self.result_memory_bytes,
                RESULT_MEMORY_BYTES,
            ),
            ("stack_bytes", self.stack_bytes, STACK_BYTES),
            ("compile_memory_bytes", memory_bytes, COMPILE_MEMORY_BYTES),
            ("compile_cpu_seconds", cpu_seconds, COMPILE_CPU_SECONDS),
            ("compile_deadline_ms", deadline_ms, COMPILE_DEADLINE_MS),
        ];
        for (name, value, range) in bounds {
            if !range.contains(&value) {
                return Err(SandboxError::Config {
                    name,
                    value,
                    min: *range.start(),
                    max: *range.end(),
                });
            }
        }
        Ok(())
    }
}
