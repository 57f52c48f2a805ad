//! The engines: which WebAssembly is accepted, how memory is laid out, and where instances come from. Nothing else in the
//! crate makes an engine or knows of the pool's numbers.

#[cfg(test)]
mod tests;

use crate::{
    config::{Pooling, SandboxConfig},
    error::SandboxError,
    text,
};
use std::{
    hash::{Hash as _, Hasher},
    num::NonZeroUsize,
};
use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, WasmFeatures,
};

/// The stack that host functions have on top of the guest's, in bytes; wasmtime's own default leaves 1.5 MiB.
const HOST_STACK_BYTES: usize = 1024 * 1024;

/// The frames of a guest's backtrace, which is only ever logged for its author.
const BACKTRACE_FRAMES: NonZeroUsize = NonZeroUsize::new(16).unwrap();

/// Places in the pool beside those for calls: definitions are asked for outside the calls' admission.
pub(crate) const EXTRA_INSTANCES: usize = 2;

/// The core instances of one component in the pool. Python's has 14, the most of the five languages that were measured.
const CORE_INSTANCES_PER_COMPONENT: u32 = 32;

/// The memories of one component in the pool. All five languages have one; a second leaves room for an adapter. Each costs
/// 4 GiB of address space and no memory.
const MEMORIES_PER_COMPONENT: u32 = 2;

/// The tables of one component in the pool. All five languages have at most two.
const TABLES_PER_COMPONENT: u32 = 4;

/// The elements of one table in the pool. JavaScript's has 7,689, the most of the five languages.
const TABLE_ELEMENTS: usize = 20_000;

/// The bookkeeping of one core instance and of one component instance, in bytes. Python's take 237 KiB and 389 KiB.
const INSTANCE_BYTES: usize = 1024 * 1024;

/// What of a memory stays resident between two calls, in bytes: clearing pages that were written costs less than giving them
/// back and faulting them in again. A Rust tool writes about 100 KiB. Measured with `benches/call.rs`: a call with 24 KiB of
/// written pages took 32 us with nothing kept, 17 us with the whole kept, and 6 us when the kernel says which pages were
/// written (`PAGEMAP_SCAN`, Linux 6.7).
const MEMORY_KEEP_RESIDENT_BYTES: usize = 1024 * 1024;

/// The same for a table.
const TABLE_KEEP_RESIDENT_BYTES: usize = 16 * 1024;

/// Without a pool, the address space that a memory gets beyond its size, in bytes, so that growing by a page does not move it.
const COMPACT_GROWTH_BYTES: u64 = 4 * 1024 * 1024;

/// Where instances come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Allocator {
    /// From a pool of reserved places.
    Pooling,
    /// From the operating system, one by one. All limits hold as well; a call takes longer.
    OnDemand {
        /// Why there is no pool, or why the component does not fit into it.
        why: String,
    },
}

/// How compiled code finds the memory of its guest. Engines of one layout run the same machine code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// In reserved address space, whose guard pages catch what is out of bounds.
    Reserved,
    /// Wherever it is, with every access checked in code.
    Compact,
}

/// The engines of one sandbox.
pub(crate) struct Engines {
    /// The one that components run on if they can.
    pub(crate) main: Engine,
    /// With a pool: an engine without one, for components that do not fit. It runs the same machine code.
    pub(crate) overflow: Option<Engine>,
    /// Where instances of `main` come from.
    pub(crate) allocator: Allocator,
    /// What code is compiled for.
    pub(crate) layout: Layout,
}

impl Engines {
    /// Makes the engines. The pool reserves its whole address space here, so a machine that does not give it is found now
    /// and not at the first call.
    pub(crate) fn new(config: &SandboxConfig) -> Result<Self, SandboxError> {
        let why = match config.pooling {
            Pooling::Off => "pooling is switched off".to_owned(),
            Pooling::Probe => match Self::pooled(config) {
                Ok(engines) => return Ok(engines),
                Err(error) => format!(
                    "the pool's address space cannot be reserved: {}",
                    text::sanitize(&error.root_cause().to_string(), 200)
                ),
            },
        };
        let layout = Layout::Compact;
        let compact = Engine::new(&layout.config(config)).map_err(|error| refused(&error))?;
        Ok(Self {
            main: compact,
            overflow: None,
            allocator: Allocator::OnDemand { why },
            layout,
        })
    }

    fn pooled(config: &SandboxConfig) -> wasmtime::Result<Self> {
        let layout = Layout::Reserved;
        let mut pooled = layout.config(config);
        pooled.allocation_strategy(InstanceAllocationStrategy::Pooling(pool(config)));
        Ok(Self {
            main: Engine::new(&pooled)?,
            overflow: Some(Engine::new(&layout.config(config))?),
            allocator: Allocator::Pooling,
            layout,
        })
    }

    /// All engines, for the ticker.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Engine> {
        std::iter::once(&self.main).chain(&self.overflow)
    }
}

/// An engine that only compiles. It reserves nothing.
pub(crate) fn compiling(layout: Layout) -> wasmtime::Result<Engine> {
    Engine::new(&layout.config(&SandboxConfig::default()))
}

/// Everything about an engine that machine code depends on: version, settings, target.
pub(crate) fn fingerprint(engine: &Engine) -> [u8; blake3::OUT_LEN] {
    let mut hasher = EngineHasher(blake3::Hasher::new());
    engine.precompile_compatibility_hash().hash(&mut hasher);
    *hasher.0.finalize().as_bytes()
}

/// Feeds the engine's compatibility hash to BLAKE3: Rust's own hasher is not promised to stay the same.
struct EngineHasher(blake3::Hasher);

impl Hasher for EngineHasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        let mut first = [0; 8];
        self.0.finalize_xof().fill(&mut first);
        u64::from_le_bytes(first)
    }
}

fn refused(error: &wasmtime::Error) -> SandboxError {
    SandboxError::Engine(error.root_cause().to_string())
}

/// What all engines have in common.
fn base_config(sandbox: &SandboxConfig) -> Config {
    let mut config = Config::new();
    config
        .epoch_interruption(true)
        .max_wasm_stack(sandbox.stack_bytes)
        .async_stack_size(sandbox.stack_bytes + HOST_STACK_BYTES)
        .wasm_backtrace_max_frames(Some(BACKTRACE_FRAMES))
        // Guests' code offsets are never reported, and the map is a third of the compiled code.
        .generate_address_map(false)
        // No tool needs these, and each is code of the engine that a hostile component could reach.
        .wasm_memory64(false)
        .wasm_features(WasmFeatures::FUNCTION_REFERENCES, false)
        // Two machines shall not differ in what a tool computes.
        .relaxed_simd_deterministic(true)
        .concurrency_support(false);
    config
}

impl Layout {
    fn config(self, sandbox: &SandboxConfig) -> Config {
        let mut config = base_config(sandbox);
        match self {
            // wasmtime's default for memories of 32 bits: 4 GiB and guard pages.
            Self::Reserved => &mut config,
            Self::Compact => config
                .memory_reservation(0)
                .memory_guard_size(0)
                .guard_before_linear_memory(false)
                .memory_reservation_for_growth(COMPACT_GROWTH_BYTES),
        };
        config
    }
}

/// The numbers of the pool. A component within the per-component numbers always finds its place while it holds one of the
/// admitted places, because the totals are the products.
fn pool(sandbox: &SandboxConfig) -> PoolingAllocationConfig {
    let calls = u32::try_from(sandbox.concurrent_calls + EXTRA_INSTANCES).unwrap_or(u32::MAX);
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(calls)
        .total_core_instances(calls.saturating_mul(CORE_INSTANCES_PER_COMPONENT))
        .total_memories(calls.saturating_mul(MEMORIES_PER_COMPONENT))
        .total_tables(calls.saturating_mul(TABLES_PER_COMPONENT))
        .total_stacks(calls)
        .max_core_instances_per_component(CORE_INSTANCES_PER_COMPONENT)
        .max_memories_per_component(MEMORIES_PER_COMPONENT)
        .max_tables_per_component(TABLES_PER_COMPONENT)
        .max_memories_per_module(MEMORIES_PER_COMPONENT)
        .max_tables_per_module(TABLES_PER_COMPONENT)
        .table_elements(TABLE_ELEMENTS)
        .max_core_instance_size(INSTANCE_BYTES)
        .max_component_instance_size(INSTANCE_BYTES)
        .pagemap_scan(Enabled::Auto)
        .linear_memory_keep_resident(MEMORY_KEEP_RESIDENT_BYTES)
        .table_keep_resident(TABLE_KEEP_RESIDENT_BYTES);
    pool
}
