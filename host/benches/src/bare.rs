//! A call with bare wasmtime: a store without limits, an instance, the call.

use super::Work;
use http::{Request, Response};
use std::hint::black_box;
use wasmtime::{
    Config, Enabled, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Store,
    component::{Component, HasSelf, Linker, ResourceTable},
};
use wasmtime_wasi::{FsPerms, WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{
    Error, RequestOptions, WasiBody, WasiHttp, WasiHttpCtx, WasiHttpCtxView, WasiHttpHooks,
    WasiHttpView, p2::bindings::http as p2http,
};

mod bindings {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "host",
        imports: { default: async | trappable },
        exports: { default: async },
    });
}
pub use bindings::Host_Pre as HostPre;
use bindings::agent::tool::{human, progress, state, types as wit};

/// The state of a bare store.
pub struct Bare {
    wasi: WasiCtx,
    http: WasiHttpCtx,
    no_requests: NoRequests,
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

/// JavaScript's engine imports wasi:http; no guest here sends a request.
struct NoRequests;

type Settled = Box<dyn Future<Output = Result<(), Error>> + Send>;
type Answer = Result<(Response<WasiBody>, Settled), Error>;

impl WasiHttpHooks for NoRequests {
    fn send_request(
        &mut self,
        _request: Request<WasiBody>,
        _options: Option<RequestOptions>,
        _settled: Settled,
    ) -> Box<dyn Future<Output = Answer> + Send> {
        Box::new(async { Err(Error::HttpRequestDenied) })
    }
}

impl WasiHttpView for Bare {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView {
            hooks: &mut self.no_requests,
            table: &mut self.table,
            ctx: &mut self.http,
        }
    }
}

impl wit::Host for Bare {}

/// A host that ignores reports and has no state.
impl progress::Host for Bare {
    async fn report(&mut self, _message: String, _fraction: Option<f64>) -> wasmtime::Result<()> {
        Ok(())
    }
}

impl state::Host for Bare {
    async fn get(&mut self) -> wasmtime::Result<String> {
        Ok("{}".to_owned())
    }

    async fn merge(&mut self, _delta: String) -> wasmtime::Result<()> {
        Ok(())
    }
}

impl human::Host for Bare {
    async fn ask(&mut self, _question: human::Question) -> wasmtime::Result<human::Answer> {
        Ok(human::Answer::Unavailable)
    }

    async fn ask_form(
        &mut self,
        _prompt: String,
        _schema: String,
    ) -> wasmtime::Result<human::FormAnswer> {
        Ok(human::FormAnswer::Unavailable)
    }
}

/// A pre-instantiated guest, on this pool or on demand, as in the sandbox without a pool.
pub fn bare(bytes: &[u8], pool: Option<PoolingAllocationConfig>) -> HostPre<Bare> {
    let mut config = Config::new();
    // As for components without async functions in the sandbox.
    config
        .concurrency_support(false)
        .wasm_component_model_async(false);
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
    wit::add_to_linker::<Bare, HasSelf<Bare>>(&mut linker, |bare| bare).unwrap();
    progress::add_to_linker::<Bare, HasSelf<Bare>>(&mut linker, |bare| bare).unwrap();
    state::add_to_linker::<Bare, HasSelf<Bare>>(&mut linker, |bare| bare).unwrap();
    human::add_to_linker::<Bare, HasSelf<Bare>>(&mut linker, |bare| bare).unwrap();
    p2http::outgoing_handler::add_to_linker::<Bare, WasiHttp>(&mut linker, Bare::http).unwrap();
    let options = p2http::types::LinkOptions::default();
    p2http::types::add_to_linker::<Bare, WasiHttp>(&mut linker, &options, Bare::http).unwrap();
    HostPre::new(linker.instantiate_pre(&component).unwrap()).unwrap()
}

/// The sandbox's pool for a number of calls.
pub fn pool(calls: u32) -> PoolingAllocationConfig {
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

/// The sandbox's default pool.
pub fn default_pool() -> PoolingAllocationConfig {
    let mut pool = pool(66);
    pool.pagemap_scan(Enabled::Auto)
        .linear_memory_keep_resident(1024 * 1024)
        .table_keep_resident(16 * 1024);
    pool
}

/// One call.
pub async fn bare_call(pre: &HostPre<Bare>, work: &Work) {
    let mut wasi = WasiCtx::builder();
    for granted in &work.grants.dirs {
        wasi.preopened_dir(&granted.host, &granted.guest, FsPerms::ReadOnly)
            .unwrap();
    }
    let state = Bare {
        wasi: wasi.build(),
        http: WasiHttpCtx::new(),
        no_requests: NoRequests,
        table: ResourceTable::new(),
    };
    let mut store = Store::new(pre.engine(), state);
    let instance = pre.instantiate_async(&mut store).await.unwrap();
    let call = wit::ToolCall {
        id: "call-1".to_owned(),
        name: work.tool.to_owned(),
        input: serde_json::to_string(&*work.input).unwrap(),
        idempotency_key: "key-1".to_owned(),
    };
    let output = instance
        .agent_tool_tool()
        .call_call(&mut store, &call)
        .await
        .unwrap();
    black_box(output);
}
