//! A call with nothing but wasmtime: a store without limits, an instance, the call.

use super::Work;
use std::hint::black_box;
use wasmtime::{
    Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Store,
    component::{Component, Linker, ResourceTable},
};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

mod bindings {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "host",
        imports: { default: async | trappable },
        exports: { default: async },
    });
}
pub(crate) use bindings::Host_Pre as HostPre;
use bindings::agent::tool::types as wit;

/// The state of a bare store.
pub(crate) struct Bare {
    wasi: WasiCtx,
    table: ResourceTable,
}

impl WasiView for Bare {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: &mut self.wasi,
            table: &mut self.table,
        }
    }
}

impl wit::Host for Bare {}

/// A guest, ready to be instantiated: from this pool, or on demand as the sandbox does it without a pool.
pub(crate) fn bare(bytes: &[u8], pool: Option<PoolingAllocationConfig>) -> HostPre<Bare> {
    let mut config = Config::new();
    match pool {
        Some(pool) => {
            config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
        }
        None => {
            config
                .memory_reservation(0)
                .memory_guard_size(0)
                .guard_before_linear_memory(false);
        }
    }
    let engine = Engine::new(&config).unwrap();
    let component = Component::from_binary(&engine, bytes).unwrap();
    let mut linker = Linker::new(&engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker).unwrap();
    wit::add_to_linker::<Bare, wasmtime::component::HasSelf<Bare>>(&mut linker, |state| state)
        .unwrap();
    HostPre::new(linker.instantiate_pre(&component).unwrap()).unwrap()
}

/// The numbers of the sandbox's own pool for so many calls.
pub(crate) fn pool(calls: u32) -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_core_instances(calls * 32)
        .total_memories(calls * 2)
        .total_tables(calls * 4)
        .total_component_instances(calls)
        .total_stacks(calls)
        .max_memories_per_module(2)
        .max_tables_per_module(4);
    pool
}

/// One call.
pub(crate) async fn bare_call(pre: &HostPre<Bare>, work: &Work) {
    let state = Bare {
        wasi: WasiCtx::builder().build(),
        table: ResourceTable::new(),
    };
    let mut store = Store::new(pre.engine(), state);
    let instance = pre.instantiate_async(&mut store).await.unwrap();
    let call = wit::ToolCall {
        id: "call-1".to_owned(),
        name: work.tool.to_owned(),
        input: serde_json::to_string(&work.input).unwrap(),
        idempotency_key: "key-1".to_owned(),
    };
    let output = instance
        .agent_tool_tool()
        .call_call(&mut store, &call)
        .await
        .unwrap();
    black_box(output);
}
