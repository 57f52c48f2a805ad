//! The sandbox as a whole: what all components and all calls of one host share.

use crate::{
    caps::http::HttpClient,
    component::{
        bytes::ComponentBytes,
        cache::Cache,
        compiler::{Compiler, Confinement},
        load::{self, Loads, ToolComponent},
    },
    config::SandboxConfig,
    engine::{Allocator, EXTRA_INSTANCES, Engines},
    error::{LoadError, SandboxError},
    schedule::{admission::Admission, guest_runtime::GuestRuntime, ticker},
};
use std::{path::PathBuf, sync::Arc, time::Duration};
use tokio::sync::Semaphore;

/// Runs tool components. One for a process; dropping it, and the components that it loaded, ends its threads.
pub struct Sandbox {
    room: Arc<Room>,
}

/// What components and calls share.
pub(crate) struct Room {
    pub(crate) engines: Engines,
    pub(crate) guests: GuestRuntime,
    pub(crate) admission: Admission,
    pub(crate) client: Arc<HttpClient>,
    pub(crate) protected: Arc<[PathBuf]>,
    pub(crate) progress_interval: Duration,
    pub(crate) cache: Option<Cache>,
    /// The one that compiles in a child process; absent where that happens in this one.
    pub(crate) compiler: Option<Arc<Compiler>>,
    pub(crate) loads: Loads,
    /// One component is compiled at a time: the compiler uses all cores for it.
    pub(crate) compiling: Semaphore,
    /// The components that are asked for their definitions at once; the pool has places for them beside those of calls.
    pub(crate) defining: Semaphore,
}

impl Sandbox {
    /// Starts the engines and the guests' threads. A cache folder that cannot be used is only logged: tools then load more
    /// slowly, and nothing else changes.
    ///
    /// # Errors
    /// A number of the configuration is out of its bounds, or the machine does not give what is needed.
    pub fn new(config: SandboxConfig) -> Result<Self, SandboxError> {
        config.check()?;
        let engines = Engines::new(&config)?;
        if let Allocator::OnDemand { why } = &engines.allocator {
            tracing::info!("instances are made on demand: {why}");
        }
        ticker::start(engines.all()).map_err(SandboxError::Threads)?;
        let guests = GuestRuntime::new(config.guest_threads).map_err(SandboxError::Threads)?;
        let client = HttpClient::new().map_err(|error| SandboxError::Http(error.to_string()))?;
        let cache = config.cache_dir.as_deref().and_then(|folder| {
            Cache::open(folder, &engines.main)
                .inspect_err(|error| {
                    tracing::warn!("compiled tools are not kept: {error}");
                })
                .ok()
        });
        let compiler = config.compiler.as_ref().map(|worker| {
            Arc::new(Compiler {
                worker: worker.clone(),
                limits: config.compile_limits,
            })
        });
        Ok(Self {
            room: Arc::new(Room {
                engines,
                guests,
                admission: Admission::new(&config),
                client: Arc::new(client),
                protected: config.protected.into(),
                progress_interval: config.progress_interval,
                cache,
                compiler,
                loads: Loads::default(),
                compiling: Semaphore::new(1),
                defining: Semaphore::new(EXTRA_INSTANCES),
            }),
        })
    }

    /// Loads a component: from the cache if it is there, else by compiling it and asking it for its definitions. Loading the
    /// same bytes again gives the same component, for as long as somebody holds it.
    ///
    /// # Errors
    /// One of the load faults, with a text that says what, why and what to do.
    pub async fn load(
        &self,
        component: impl Into<ComponentBytes>,
    ) -> Result<ToolComponent, LoadError> {
        load::load(&self.room, component.into()).await
    }

    /// Tries the compiler of this sandbox, and says how far it is confined; absent where components are compiled in this
    /// process, without any limits.
    ///
    /// # Errors
    /// When it does not start.
    pub async fn check_compiler(&self) -> Result<Option<Confinement>, LoadError> {
        match &self.room.compiler {
            Some(compiler) => compiler.check().await.map(Some),
            None => Ok(None),
        }
    }

    /// Where instances come from.
    #[must_use]
    pub fn allocator(&self) -> Allocator {
        self.room.engines.allocator.clone()
    }

    /// How many instances the pool holds at this moment; absent without a pool. When no call runs and nothing is loaded it is
    /// 0: more is a leak.
    #[must_use]
    pub fn live_instances(&self) -> Option<u64> {
        let metrics = self.room.engines.main.pooling_allocator_metrics()?;
        Some(metrics.component_instances())
    }
}

impl std::fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sandbox")
            .field("allocator", &self.room.engines.allocator)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
impl Sandbox {
    /// How many components are loaded or being loaded.
    pub(crate) fn loads(&self) -> usize {
        self.room.loads.count()
    }
}
