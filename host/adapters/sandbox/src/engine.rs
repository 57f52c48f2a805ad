//! Creates all wasmtime engines: WebAssembly features, memory layout, and the instance allocator.

#[cfg(test)]
mod tests;

use crate::{
    config::{Pooling, SandboxConfig, WasiVersion},
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

/// The stack for host functions on top of the guest's, in bytes; wasmtime's default leaves 1.5 MiB.
const HOST_STACK_BYTES: usize = 1024 * 1024;

/// The frames in a guest's backtrace, which only its author sees.
const BACKTRACE_FRAMES: NonZeroUsize = NonZeroUsize::new(16).unwrap();

/// Pool slots beside those for calls: definition queries bypass admission.
pub(crate) const EXTRA_INSTANCES: usize = 2;

/// The most programs at once, each with a pool slot of its own: one that waits for its calls holds
/// no permit, and still has its instance.
pub(crate) const MAX_PROGRAMS: usize = 16;

/// The most servers at once, each with a pool slot of its own.
pub(crate) const MAX_SERVERS: usize = 16;

/// The core instances of one component in the pool. Python has 14, the most of five languages.
const CORE_INSTANCES_PER_COMPONENT: u32 = 32;

/// The memories of one component in the pool. All five languages have one; an adapter may need a
/// second. Each takes 4 GiB of address space and no memory.
const MEMORIES_PER_COMPONENT: u32 = 2;

/// The tables of one component in the pool. All five languages have at most two.
const TABLES_PER_COMPONENT: u32 = 4;

/// The elements of one table in the pool. JavaScript's has 7,689, the most of the five languages.
const TABLE_ELEMENTS: usize = 20_000;

/// wasmtime's data for one core instance and one component instance, in bytes. Python's take 237
/// KiB and 389 KiB.
const INSTANCE_BYTES: usize = 1024 * 1024;

/// The bytes of a memory that stay resident between two calls: clearing written pages costs less
/// than releasing and faulting them in again. A Rust tool writes about 100 KiB. Measured with
/// `benches/call.rs`: a call with 24 KiB of written pages took 32 us with nothing kept, 17 us with
/// everything kept, and 6 us with the kernel's list of written pages (`PAGEMAP_SCAN`, Linux 6.7).
const MEMORY_KEEP_RESIDENT_BYTES: usize = 1024 * 1024;

/// The bytes of a table that stay resident between two calls.
const TABLE_KEEP_RESIDENT_BYTES: usize = 16 * 1024;

/// The address space that a memory gets beyond its size without a pool, in bytes, so that growing
/// by a page does not move it.
const COMPACT_GROWTH_BYTES: u64 = 4 * 1024 * 1024;

/// The allocator of instances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Allocator {
    /// A pool of reserved slots.
    Pooling,
    /// On demand from the operating system. All limits hold; a call takes longer.
    OnDemand {
        /// Why there is no pool, or the component does not fit into it.
        why: String,
    },
}

/// The layout of linear memories. Engines of one layout run the same machine code. The numbers are
/// for the compile worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Layout {
    /// Reserved address space, where guard pages catch out-of-bounds accesses.
    Reserved = 0,
    /// No reservation; the code checks every access.
    Compact = 1,
}

/// The engines of one sandbox.
pub(crate) struct Engines {
    /// The engine of components that fit it.
    pub(crate) main: Engine,
    /// With a pool, an engine without one for components that do not fit; it runs the same code.
    pub(crate) overflow: Option<Engine>,
    /// The engine of components with async functions, which has no pool; absent unless WASI 0.3 is
    /// on. Such an engine takes 1.8 times as long for a call, and 2.4 times for a host function.
    pub(crate) concurrent: Option<Engine>,
    /// The allocator of `main`.
    pub(crate) allocator: Allocator,
    pub(crate) layout: Layout,
}

impl Engines {
    /// Creates the engines. The pool reserves its whole address space here, so that a machine that
    /// refuses it is found now and not at the first call.
    pub(crate) fn new(config: &SandboxConfig) -> Result<Self, SandboxError> {
        let why = match config.pooling {
            Pooling::Off => "pooling is off".to_owned(),
            Pooling::Probe => match Self::pooled(config) {
                Ok(engines) => return Ok(engines),
                Err(error) => format!(
                    "cannot reserve the pool's address space: {}",
                    text::sanitize(&error.root_cause().to_string(), 200)
                ),
            },
        };
        Self::on_demand(config, why).map_err(|error| SandboxError::Engine(error.into()))
    }

    fn on_demand(config: &SandboxConfig, why: String) -> wasmtime::Result<Self> {
        let layout = Layout::Compact;
        Ok(Self {
            main: Engine::new(&layout.config(config))?,
            overflow: None,
            concurrent: layout.concurrent(config)?,
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
            concurrent: layout.concurrent(config)?,
            allocator: Allocator::Pooling,
            layout,
        })
    }

    /// All engines, for the ticker.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Engine> {
        let others = self.overflow.iter().chain(&self.concurrent);
        std::iter::once(&self.main).chain(others)
    }

    /// The engines that components are compiled for.
    pub(crate) fn compilers(&self) -> Compilers {
        Compilers {
            main: self.main.clone(),
            concurrent: self.concurrent.clone(),
        }
    }
}

/// The engines that compile: one for each kind of machine code.
pub(crate) struct Compilers {
    pub(crate) main: Engine,
    /// For components with async functions; absent unless WASI 0.3 is on.
    pub(crate) concurrent: Option<Engine>,
}

impl Compilers {
    /// Creates engines that only compile and reserve nothing.
    pub(crate) fn new(layout: Layout, wasi: WasiVersion) -> wasmtime::Result<Self> {
        let config = SandboxConfig {
            wasi,
            ..SandboxConfig::default()
        };
        Ok(Self {
            main: Engine::new(&layout.config(&config))?,
            concurrent: layout.concurrent(&config)?,
        })
    }

    /// The WASI that was asked for.
    pub(crate) fn wasi(&self) -> WasiVersion {
        match self.concurrent {
            Some(_) => WasiVersion::V0_3,
            None => WasiVersion::V0_2,
        }
    }

    /// Hashes all properties of the engines that machine code depends on: version, settings, target.
    pub(crate) fn fingerprint(&self) -> [u8; blake3::OUT_LEN] {
        let mut hasher = EngineHasher(blake3::Hasher::new());
        for engine in std::iter::once(&self.main).chain(&self.concurrent) {
            engine.precompile_compatibility_hash().hash(&mut hasher);
        }
        *hasher.0.finalize().as_bytes()
    }
}

/// Feeds the engine's compatibility hash to BLAKE3, because Rust's hasher may change.
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

impl Layout {
    pub(crate) const ALL: [Self; 2] = [Self::Reserved, Self::Compact];

    fn config(self, sandbox: &SandboxConfig) -> Config {
        let mut config = Config::new();
        config
            .epoch_interruption(true)
            .max_wasm_stack(sandbox.stack_bytes)
            .async_stack_size(sandbox.stack_bytes + HOST_STACK_BYTES)
            .wasm_backtrace_max_frames(Some(BACKTRACE_FRAMES))
            // Code offsets are never reported, and the map is a third of the compiled code.
            .generate_address_map(false)
            // No tool needs these, and each adds code that a hostile component could reach.
            .wasm_memory64(false)
            .wasm_features(WasmFeatures::FUNCTION_REFERENCES, false)
            // A tool computes the same on every machine.
            .relaxed_simd_deterministic(true)
            .concurrency_support(false)
            .wasm_component_model_async(false);
        // `Reserved` is wasmtime's default for 32-bit memories: 4 GiB and guard pages.
        if self == Self::Compact {
            config
                .memory_reservation(0)
                .memory_guard_size(0)
                .guard_before_linear_memory(false)
                .memory_reservation_for_growth(COMPACT_GROWTH_BYTES);
        }
        config
    }

    /// Creates the engine of components with async functions, if WASI 0.3 is on. It has no pool: its
    /// slots would reserve as much address space again, for few components.
    fn concurrent(self, sandbox: &SandboxConfig) -> wasmtime::Result<Option<Engine>> {
        if sandbox.wasi < WasiVersion::V0_3 {
            return Ok(None);
        }
        let mut config = self.config(sandbox);
        config
            .concurrency_support(true)
            .wasm_component_model_async(true);
        Engine::new(&config).map(Some)
    }
}

/// The numbers of the pool. The totals are products, so a component within the per-component
/// numbers always finds a slot while its call is admitted.
fn pool(sandbox: &SandboxConfig) -> PoolingAllocationConfig {
    let calls = sandbox.concurrent_calls + EXTRA_INSTANCES + MAX_PROGRAMS + MAX_SERVERS;
    let calls = u32::try_from(calls).unwrap_or(u32::MAX);
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
