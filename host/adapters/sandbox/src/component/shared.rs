//! The state that all components and calls of one sandbox share.

use crate::{
    caps::http::HttpClient,
    component::{cache::Cache, compiler::Compiler, load::LoadedComponents},
    engine::Engines,
    schedule::{admission::Admission, guest_runtime::GuestRuntime, result_budget::ResultBudget},
};
use std::{path::PathBuf, sync::Arc, time::Duration};
use tokio::sync::Semaphore;

pub(crate) struct SharedParts {
    pub(crate) engines: Engines,
    pub(crate) guests: GuestRuntime,
    pub(crate) admission: Admission,
    pub(crate) results: ResultBudget,
    pub(crate) client: Arc<HttpClient>,
    pub(crate) protected: Arc<[PathBuf]>,
    pub(crate) progress_interval: Duration,
    pub(crate) cache: Option<Cache>,
    /// Compiles in a child process; absent to compile in this process.
    pub(crate) compiler: Option<Arc<Compiler>>,
    pub(crate) components: LoadedComponents,
    /// One permit: the compiler uses all cores for one component.
    pub(crate) compiling: Semaphore,
    /// One permit for each pool slot beyond those of calls.
    pub(crate) querying: Semaphore,
    /// One permit for each pool slot of a program.
    pub(crate) programs: Arc<Semaphore>,
    /// One permit for each pool slot of a server.
    pub(crate) servers: Arc<Semaphore>,
}
