//! What a call costs: a fresh instance and an echo with every limit on, against bare wasmtime in the same process with the same
//! allocator. The numbers and what they are made of are in the README.

#![expect(
    clippy::unwrap_used,
    reason = "a benchmark that cannot run has nothing to report"
)]

use agent_host_core::{id::CallId, limits::Limits, policy::Grants, tool::Effect};
use agent_host_sandbox::{Allocator, Call, Pooling, Sandbox, SandboxConfig, ToolComponent};
use agent_host_test_guests::Guest;
use criterion::{Criterion, criterion_group, criterion_main};
use futures_util::future::join_all;
use serde_json::{Map, Value};
use std::{hint::black_box, sync::Arc};
use tokio::runtime::{Builder, Runtime};
use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Store,
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
use bindings::{Host_Pre as HostPre, agent::tool::types as wit};

/// What is called.
struct Work {
    name: &'static str,
    bytes: Vec<u8>,
    tool: &'static str,
    input: Map<String, Value>,
    limits: Limits,
}

impl Work {
    fn new(name: &'static str, bytes: Vec<u8>, tool: &'static str) -> Self {
        Self {
            name,
            bytes,
            tool,
            input: Map::from_iter([("path".to_owned(), Value::from("."))]),
            limits: Limits::default(),
        }
    }

    /// A guest that does nothing but return its arguments, and a real one, in Rust, that finds no folder.
    fn all() -> Vec<Self> {
        let files = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../guest-tools/dist/files.wasm"
        );
        let mut all = vec![Self::new("echo", Guest::default().bytes(), "echo")];
        all.extend(
            std::fs::read(files).map(|bytes| Self::new("builtin files", bytes, "list_directory")),
        );
        all
    }
}

/// The state of a bare store.
struct Bare {
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

fn bare(bytes: &[u8], pooled: bool) -> HostPre<Bare> {
    let mut config = Config::new();
    if pooled {
        // The numbers of the sandbox's own pool.
        let mut pool = PoolingAllocationConfig::new();
        pool.total_core_instances(66 * 32)
            .total_memories(66 * 2)
            .total_tables(66 * 4)
            .total_component_instances(66)
            .total_stacks(66)
            .max_memories_per_module(2)
            .max_tables_per_module(4)
            .pagemap_scan(Enabled::Auto)
            .linear_memory_keep_resident(1024 * 1024)
            .table_keep_resident(16 * 1024);
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    } else {
        config
            .memory_reservation(0)
            .memory_guard_size(0)
            .guard_before_linear_memory(false);
    }
    let engine = Engine::new(&config).unwrap();
    let component = Component::from_binary(&engine, bytes).unwrap();
    let mut linker = Linker::new(&engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker).unwrap();
    wit::add_to_linker::<Bare, wasmtime::component::HasSelf<Bare>>(&mut linker, |state| state)
        .unwrap();
    HostPre::new(linker.instantiate_pre(&component).unwrap()).unwrap()
}

async fn bare_call(pre: &HostPre<Bare>, work: &Work) {
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

fn sandboxed(runtime: &Runtime, bytes: &[u8], pooling: Pooling) -> ToolComponent {
    let sandbox = Sandbox::new(SandboxConfig {
        pooling,
        ..SandboxConfig::default()
    })
    .unwrap();
    let tool = runtime.block_on(sandbox.load(bytes)).unwrap();
    let pooled = tool.allocator() == Allocator::Pooling;
    assert_eq!(pooled, pooling == Pooling::Probe);
    tool
}

async fn sandboxed_call(tool: &ToolComponent, work: &Work) {
    let report = tool
        .call(Call {
            tool: work.tool,
            call_id: &CallId("call-1".to_owned()),
            input: &work.input,
            idempotency_key: "key-1",
            effect: Effect::ReadOnly,
            grants: Arc::new(Grants::default()),
            secrets: Arc::default(),
            limits: &work.limits,
            progress: &|_, _| {},
        })
        .await;
    black_box(report.output);
}

fn calls(criterion: &mut Criterion) {
    // As the program has it, and as an embedder may have it.
    let caller = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let single = Builder::new_current_thread().enable_all().build().unwrap();
    let guests = Builder::new_multi_thread()
        .worker_threads(2)
        .event_interval(1)
        .global_queue_interval(1)
        .enable_all()
        .build()
        .unwrap();
    let all = Work::all().into_iter().map(Arc::new);
    for (work, pooling) in
        all.flat_map(|work| [(Arc::clone(&work), Pooling::Probe), (work, Pooling::Off)])
    {
        let mut group = criterion.benchmark_group(format!("{} {pooling:?}", work.name));
        let pre = Arc::new(bare(&work.bytes, pooling == Pooling::Probe));
        group.bench_function("bare", |bencher| {
            bencher.to_async(&caller).iter(|| bare_call(&pre, &work));
        });
        // What keeping guests off the loop's threads costs by itself.
        group.bench_function("bare, on a thread for guests", |bencher| {
            bencher.to_async(&caller).iter(|| {
                let (pre, work) = (Arc::clone(&pre), Arc::clone(&work));
                let task = guests.spawn(async move { bare_call(&pre, &work).await });
                async move { task.await.unwrap() }
            });
        });
        let tool = sandboxed(&caller, &work.bytes, pooling);
        group.bench_function("sandboxed", |bencher| {
            bencher
                .to_async(&caller)
                .iter(|| sandboxed_call(&tool, &work));
        });
        group.bench_function("sandboxed, current-thread caller", |bencher| {
            bencher
                .to_async(&single)
                .iter(|| sandboxed_call(&tool, &work));
        });
        group.bench_function("32 bare, one after the other", |bencher| {
            bencher.to_async(&caller).iter(|| async {
                for _ in 0..32 {
                    bare_call(&pre, &work).await;
                }
            });
        });
        group.bench_function("32 sandboxed at once", |bencher| {
            bencher
                .to_async(&caller)
                .iter(|| join_all((0..32).map(|_| sandboxed_call(&tool, &work))));
        });
        group.finish();
    }
}

criterion_group!(benches, calls);
criterion_main!(benches);
