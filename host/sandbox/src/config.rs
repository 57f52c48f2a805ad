//! What an embedder sets once for the whole sandbox. The limits of one call are not here: they come with the call.

use crate::{
    component::compiler::{CompileLimits, CompileWorker},
    error::SandboxError,
};
use std::{num::NonZeroUsize, path::PathBuf, thread, time::Duration};

/// The most calls that may run at once. Each needs about 8 GiB of address space in the pool, so this stays well below the
/// 128 TiB that a process has.
const MAX_CONCURRENT_CALLS: usize = 1_024;

/// The most calls that may wait.
const MAX_QUEUED_CALLS: usize = 65_536;

/// The most threads for guests.
const MAX_GUEST_THREADS: usize = 256;

/// The bounds of a guest's stack, in bytes: less holds no language's runtime, more is never touched.
const STACK_BYTES: std::ops::RangeInclusive<usize> = 64 * 1024..=8 * 1024 * 1024;

/// The bounds of what compiling may take: with less the compiler does not start, and more is no limit.
const COMPILE_MEMORY_BYTES: std::ops::RangeInclusive<usize> =
    128 * 1024 * 1024..=64 * 1024 * 1024 * 1024;
const COMPILE_CPU_SECONDS: std::ops::RangeInclusive<usize> = 1..=3_600;
const COMPILE_DEADLINE_MS: std::ops::RangeInclusive<usize> = 10..=3_600_000;

/// How a sandbox is set up. `SandboxConfig::default()` suits one person on one machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxConfig {
    /// Where compiled components are kept; `None` keeps none. Made if missing, with mode 0700.
    pub cache_dir: Option<PathBuf>,
    /// Files and folders that no guest ever reaches, whatever is granted: the state, the configuration, the lock.
    pub protected: Vec<PathBuf>,
    /// The threads on which guests begin, and as many again for those that compute for long.
    pub guest_threads: usize,
    /// The calls that run at once; the pool has a place for each. The last quarter is for tools of which nothing runs, or less
    /// where [`field@Self::concurrent_calls_per_tool`] lets one tool have more than the rest.
    pub concurrent_calls: usize,
    /// The calls that may wait for a place; one more is answered with `busy`.
    pub queued_calls: usize,
    /// How many of the running calls may be of one tool; `None` for half of them.
    pub concurrent_calls_per_tool: Option<usize>,
    /// How many of the waiting calls may be of one tool; `None` for half of them.
    pub queued_calls_per_tool: Option<usize>,
    /// Whether instances come from a pool.
    pub pooling: Pooling,
    /// The stack of one guest, in bytes.
    pub stack_bytes: usize,
    /// The time between two progress reports of a call; what comes sooner is dropped.
    pub progress_interval: Duration,
    /// The program that compiles components in a child process. With `None` they are compiled in this process, where no limits
    /// hold and a component can keep the compiler busy for very long.
    pub compiler: Option<CompileWorker>,
    /// What compiling one component may take, with a [`Self::compiler`].
    pub compile_limits: CompileLimits,
}

/// Whether instances come from a pool of reserved address space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// Try it, and go without where the address space is limited (`ulimit -v`).
    Probe,
    /// Reserve nothing: slower calls, little address space.
    Off,
}

impl Default for SandboxConfig {
    fn default() -> Self {
        Self {
            cache_dir: None,
            protected: Vec::new(),
            // Two at least, so that one guest in a slow file system does not hold up all others.
            guest_threads: thread::available_parallelism()
                .map_or(2, NonZeroUsize::get)
                .clamp(2, MAX_GUEST_THREADS),
            concurrent_calls: 64,
            queued_calls: 256,
            concurrent_calls_per_tool: None,
            queued_calls_per_tool: None,
            pooling: Pooling::Probe,
            // Python's interpreter recurses deeper than wasmtime's default of 512 KiB allows.
            stack_bytes: 1024 * 1024,
            // Nobody reads faster, and a guest that reports in a loop must not keep its caller's thread busy.
            progress_interval: Duration::from_millis(20),
            compiler: None,
            compile_limits: CompileLimits::default(),
        }
    }
}

impl SandboxConfig {
    /// The running calls that may be of one tool.
    pub(crate) fn concurrent_calls_per_tool(&self) -> usize {
        let half = self.concurrent_calls.div_ceil(2);
        self.concurrent_calls_per_tool.unwrap_or(half)
    }

    /// The places that only a tool gets of which nothing runs. While fewer tools than this run anything, another one's first call
    /// need not wait: a tool takes no more than one of them.
    pub(crate) fn calls_kept(&self) -> usize {
        let beside_one_tool = self
            .concurrent_calls
            .saturating_sub(self.concurrent_calls_per_tool());
        (self.concurrent_calls / 4).min(beside_one_tool)
    }

    /// The waiting calls that may be of one tool.
    pub(crate) fn queued_calls_per_tool(&self) -> usize {
        let half = self.queued_calls.div_ceil(2);
        self.queued_calls_per_tool.unwrap_or(half)
    }

    /// Checks the numbers.
    pub(crate) fn check(&self) -> Result<(), SandboxError> {
        let bounds = [
            ("guest_threads", self.guest_threads, 1..=MAX_GUEST_THREADS),
            (
                "concurrent_calls",
                self.concurrent_calls,
                1..=MAX_CONCURRENT_CALLS,
            ),
            ("queued_calls", self.queued_calls, 0..=MAX_QUEUED_CALLS),
            (
                "concurrent_calls_per_tool",
                self.concurrent_calls_per_tool(),
                1..=MAX_CONCURRENT_CALLS,
            ),
            (
                "queued_calls_per_tool",
                self.queued_calls_per_tool(),
                0..=MAX_QUEUED_CALLS,
            ),
            ("stack_bytes", self.stack_bytes, STACK_BYTES),
            (
                "compile_memory_bytes",
                self.compile_limits.memory_bytes,
                COMPILE_MEMORY_BYTES,
            ),
            (
                "compile_cpu_seconds",
                self.compile_limits.cpu_seconds,
                COMPILE_CPU_SECONDS,
            ),
            (
                "compile_deadline_ms",
                self.compile_limits.deadline_ms,
                COMPILE_DEADLINE_MS,
            ),
        ];
        for (name, value, range) in bounds {
            if !range.contains(&value) {
                return Err(SandboxError::Config {
                    name,
                    value,
                    least: *range.start(),
                    most: *range.end(),
                });
            }
        }
        Ok(())
    }
}
