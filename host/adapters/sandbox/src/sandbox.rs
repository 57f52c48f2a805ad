//! The entry point of the crate.

use crate::{
    caps::http::HttpClient,
    component::{
        bytes::ComponentBytes,
        cache::Cache,
        compiler::{Compiler, Confinement},
        error::LoadError,
        link::EntryPoint,
        load::{self, LoadedComponents},
        shared::SharedParts,
        tool::ToolComponent,
    },
    config::SandboxConfig,
    engine::{Allocator, EXTRA_INSTANCES, Engines, MAX_PROGRAMS, MAX_SERVERS},
    error::SandboxError,
    schedule::{
        admission::Admission, guest_runtime::GuestRuntime, result_budget::ResultBudget, ticker,
    },
};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Loads and runs tool components. A process needs only one. Its threads end when it and the
/// components that it loaded are dropped.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use agent_host_sandbox::{LoadFault, Sandbox, SandboxConfig};
///
/// let sandbox = Sandbox::new(SandboxConfig::default())?;
/// // The bytes of a core module, which is not a component.
/// let error = sandbox.load(b"\0asm\x01\0\0\0".as_slice()).await.unwrap_err();
/// assert_eq!(error.fault(), LoadFault::NotAComponent);
/// # Ok(())
/// # }
/// ```
pub struct Sandbox {
    pub(crate) shared: Arc<SharedParts>,
}

impl Sandbox {
    /// Starts the engines and the guest threads. A cache directory that cannot be used is logged,
    /// and components are compiled at each start.
    ///
    /// # Errors
    /// A number of the configuration is out of bounds, or the machine refuses resources.
    pub fn new(config: SandboxConfig) -> Result<Self, SandboxError> {
        config.check()?;
        let engines = Engines::new(&config)?;
        if let Allocator::OnDemand { why } = &engines.allocator {
            tracing::info!("instances are created on demand: {why}");
        }
        ticker::start(engines.all()).map_err(SandboxError::Threads)?;
        let guests = GuestRuntime::new(config.guest_threads).map_err(SandboxError::Threads)?;
        let client = HttpClient::new().map_err(|error| SandboxError::Http(error.into()))?;
        let cache = config.cache_dir.as_deref().and_then(|dir| {
            Cache::open(dir, engines.compilers().fingerprint(), config.cache_bytes)
                .inspect_err(|error| {
                    tracing::warn!("compiled tools are not saved: {error}");
                })
                .ok()
        });
        let admission = Admission::new(&config);
        let compiler = config.compiler.map(|worker| {
            Arc::new(Compiler {
                worker,
                limits: config.compile_limits,
            })
        });
        Ok(Self {
            shared: Arc::new(SharedParts {
                engines,
                guests,
                admission,
                results: ResultBudget::new(config.result_memory_bytes),
                client: Arc::new(client),
                protected: config.protected.into(),
                progress_interval: config.progress_interval,
                cache,
                compiler,
                components: LoadedComponents::default(),
                compiling: Semaphore::new(1),
                querying: Semaphore::new(EXTRA_INSTANCES),
                programs: Arc::new(Semaphore::new(MAX_PROGRAMS)),
                servers: Arc::new(Semaphore::new(MAX_SERVERS)),
            }),
        })
    }

    /// Loads a component from the cache, or compiles it and queries its tool definitions. Equal
    /// bytes give the same component while a handle to it exists.
    ///
    /// # Errors
    /// The component is unusable, or the host failed: see [`LoadError::fault`].
    pub async fn load(
        &self,
        component: impl Into<ComponentBytes>,
    ) -> Result<ToolComponent, LoadError> {
        self.load_with(component, &|_| {}).await
    }

    /// Loads a component as [`Self::load`] does; `on_compile` receives its size in bytes before it
    /// is compiled, which takes seconds for one of 10 MB.
    ///
    /// # Errors
    /// Those of [`Self::load`].
    pub async fn load_with(
        &self,
        component: impl Into<ComponentBytes>,
        on_compile: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<ToolComponent, LoadError> {
        let loaded = load::load(&self.shared, component.into(), on_compile).await?;
        match &loaded.loaded.linked.entry_point {
            EntryPoint::Program(why) => Err(LoadError::Functions(why.clone())),
            _ => Ok(loaded),
        }
    }

    /// Loads a program, such as an MCP server, as [`Self::load_with`] does; see
    /// [`ToolComponent::serve`].
    ///
    /// # Errors
    /// Those of [`Self::load`], and [`LoadError::NotAProgram`].
    pub async fn load_program(
        &self,
        component: impl Into<ComponentBytes>,
        on_compile: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<ToolComponent, LoadError> {
        let loaded = load::load(&self.shared, component.into(), on_compile).await?;
        match &loaded.loaded.linked.program {
            Some(_) => Ok(loaded),
            None => Err(LoadError::NotAProgram),
        }
    }

    /// Starts the compiler of this sandbox and returns its confinement; `None` if components are
    /// compiled in this process, without limits.
    ///
    /// # Errors
    /// The compiler does not start.
    pub async fn check_compiler(&self) -> Result<Option<Confinement>, LoadError> {
        match &self.shared.compiler {
            Some(compiler) => compiler.check().await.map(Some),
            None => Ok(None),
        }
    }

    /// The allocator of components that fit the main engine.
    #[must_use]
    pub fn allocator(&self) -> Allocator {
        self.shared.engines.allocator.clone()
    }

    /// Returns the number of instances in the pool, or `None` without a pool. It is 0 when no call
    /// runs and no component loads.
    #[must_use]
    pub fn live_instances(&self) -> Option<u64> {
        let metrics = self.shared.engines.main.pooling_allocator_metrics()?;
        Some(metrics.component_instances())
    }
}

impl std::fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sandbox")
            .field("allocator", &self.shared.engines.allocator)
            .finish_non_exhaustive()
    }
}
