//! From bytes to a component that can be called: compiled or taken from the cache, held against the contract, linked, and
//! asked for its definitions. It never grants anything.

#[cfg(test)]
mod tests;

use crate::{
    caps::http::{HttpClient, Recording},
    component::{
        bytes::{ComponentBytes, Identified},
        code::{self, TrustedCode},
        definitions,
        link::{EntryPoint, LinkedComponent, link},
        plain::Docs,
    },
    engine::{Allocator, fingerprint},
    error::{LoadError, LoadFault},
    sandbox::Room,
    schedule::{admission::Queue, guest_runtime::Schedule},
    text,
};
use agent_host_engine::definitions::Definitions;
use agent_host_types::{
    failure::{ToolErrorCode, ToolFailure},
    id::Digest,
    output::ToolResultOutput,
    tool::ToolDefinition,
};
use bytes::Bytes;
use serde_json::{Map, Value};
use std::{
    collections::HashMap,
    fmt::Display,
    num::NonZeroUsize,
    sync::{Arc, Mutex, MutexGuard, Once, PoisonError, Weak},
};
use tokio::sync::Semaphore;
use tokio_util::task::AbortOnDropHandle;

/// What is shown of a name that somebody chose, in bytes, and of an engine's error.
const MAX_NAME_BYTES: usize = 120;
const MAX_DETAIL_BYTES: usize = 300;

/// The interface from which every open folder comes; whoever does not import it has no way to a file.
const PREOPENS: &str = "wasi:filesystem/preopens@";

/// It is said once that there is no compiler beside this process.
static IN_PROCESS: Once = Once::new();

/// Whether this process compiled a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compiled {
    /// The machine code and the definitions came from the cache.
    FromCache,
    /// They were made now.
    Now,
}

/// A loaded component. Cheap to clone; it may outlive the sandbox that loaded it.
#[derive(Clone)]
pub struct ToolComponent {
    loaded: Arc<Loaded>,
    tenant: Arc<Tenant>,
}

/// A component among others: what it waits in for its turn, what is known of how long its calls take, and its HTTP client.
pub(crate) struct Tenant {
    pub(crate) queue: Queue,
    pub(crate) schedule: Arc<Schedule>,
    pub(crate) client: Arc<HttpClient>,
}

impl Tenant {
    /// `concurrent_calls` is for a number of its own, `recording` for exchanges that are recorded.
    fn new(
        room: &Room,
        concurrent_calls: Option<usize>,
        recording: Option<Arc<Recording>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            queue: room.admission.queue(concurrent_calls),
            schedule: room.guests.schedule(),
            client: room.client.for_tool(recording),
        })
    }
}

struct Loaded {
    digest: Digest,
    size_bytes: u64,
    imports: Vec<String>,
    definitions: Definitions,
    compiled: Compiled,
    allocator: Allocator,
    entry: EntryPoint,
    /// Its own tenant, unless somebody gives it a number of calls of its own.
    tenant: Arc<Tenant>,
    room: Arc<Room>,
}

impl ToolComponent {
    /// The same component with a number of its own of calls that run at once, instead of the sandbox's
    /// `concurrent_calls_per_tool` of [`crate::SandboxConfig`]. Its calls are counted apart from those
    /// of other handles.
    #[must_use]
    pub fn with_concurrent_calls(mut self, calls: NonZeroUsize) -> Self {
        self.tenant = Tenant::new(&self.loaded.room, Some(calls.get()), None);
        self
    }

    /// The same component with a recording between its gate and the network: its requests are judged as ever, and then recorded,
    /// or answered from what was recorded before. Its calls are counted apart from those of other handles.
    #[must_use]
    pub fn with_recording(mut self, recording: Arc<Recording>) -> Self {
        self.tenant = Tenant::new(&self.loaded.room, None, Some(recording));
        self
    }

    /// The digest of the component's bytes.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.loaded.digest
    }

    /// The size of the component, in bytes.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.loaded.size_bytes
    }

    /// The interfaces that it imports, as it names them; they are its permission request. Interfaces of others that have types
    /// alone are left out.
    #[must_use]
    pub fn imports(&self) -> &[String] {
        &self.loaded.imports
    }

    /// Whether it can ask for the granted folders.
    pub(crate) fn asks_for_folders(&self) -> bool {
        let mut imports = self.loaded.imports.iter();
        imports.any(|import| import.starts_with(PREOPENS))
    }

    /// Its tools, as it defines them and as they were checked.
    #[must_use]
    pub fn definitions(&self) -> &[ToolDefinition] {
        self.loaded.definitions.all()
    }

    /// The functions of a plain component that are no tools, each with the reason. Empty for a component that speaks the
    /// contract.
    #[must_use]
    pub fn refused_functions(&self) -> &[String] {
        match &self.loaded.entry {
            EntryPoint::Contract(_) => &[],
            EntryPoint::Plain(plain) => plain.refused(),
        }
    }

    /// Whether it came from the cache.
    #[must_use]
    pub fn compiled(&self) -> Compiled {
        self.loaded.compiled
    }

    /// Where its instances come from.
    #[must_use]
    pub fn allocator(&self) -> Allocator {
        self.loaded.allocator.clone()
    }

    /// Checks the arguments of one of its tools.
    ///
    /// # Errors
    /// `unknown-tool`, or `invalid-input` with what does not fit.
    pub fn validate(&self, tool: &str, input: &Map<String, Value>) -> Result<(), ToolFailure> {
        self.check(tool, input)?;
        match &self.loaded.entry {
            EntryPoint::Contract(_) => Ok(()),
            EntryPoint::Plain(plain) => plain.bind(tool, input).map(drop),
        }
    }

    /// Checks the arguments against the tool's schema.
    pub(crate) fn check(&self, tool: &str, input: &Map<String, Value>) -> Result<(), ToolFailure> {
        match self.loaded.definitions.schemas(tool) {
            Some(schemas) => schemas.input.validate(input),
            None => Err(ToolFailure::new(
                ToolErrorCode::UnknownTool,
                format!(
                    "There is no tool `{}` in this component.",
                    text::sanitize(tool, MAX_NAME_BYTES)
                ),
            )),
        }
    }

    fn of(loaded: Arc<Loaded>) -> Self {
        let tenant = Arc::clone(&loaded.tenant);
        Self { loaded, tenant }
    }

    /// Checks a result against what the tool promises of its JSON results. What a plain function promises are its types, and
    /// the engine has held the result to those.
    ///
    /// # Errors
    /// `invalid-output`, with what does not fit.
    pub(crate) fn validate_output(
        &self,
        tool: &str,
        output: &ToolResultOutput,
    ) -> Result<(), ToolFailure> {
        if matches!(self.loaded.entry, EntryPoint::Plain(_)) {
            return Ok(());
        }
        let schemas = self.loaded.definitions.schemas(tool);
        match (schemas.and_then(|schemas| schemas.output.as_ref()), output) {
            (Some(schema), ToolResultOutput::Json(value)) => schema.validate(value),
            _ => Ok(()),
        }
    }

    pub(crate) fn room(&self) -> &Room {
        &self.loaded.room
    }

    pub(crate) fn tenant(&self) -> &Tenant {
        &self.tenant
    }

    pub(crate) fn entry(&self) -> &EntryPoint {
        &self.loaded.entry
    }
}

impl std::fmt::Debug for ToolComponent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolComponent")
            .field("digest", &self.loaded.digest)
            .field("compiled", &self.loaded.compiled)
            .field("allocator", &self.loaded.allocator)
            .finish_non_exhaustive()
    }
}

/// The components that are loaded or being loaded, so that each is compiled once.
#[derive(Default)]
pub(crate) struct Loads(Mutex<HashMap<blake3::Hash, Arc<Slot>>>);

struct Slot {
    /// Held by the one who loads; the others wait for it and then find the component.
    turn: Semaphore,
    loaded: Mutex<Weak<Loaded>>,
}

impl Loads {
    fn slot(&self, hash: blake3::Hash) -> Arc<Slot> {
        let mut slots = self.lock();
        // Components that nobody holds or waits for any more leave the list here.
        slots.retain(|_, slot| Arc::strong_count(slot) > 1 || slot.lock().strong_count() > 0);
        let slot = slots.entry(hash).or_insert_with(|| {
            Arc::new(Slot {
                turn: Semaphore::new(1),
                loaded: Mutex::default(),
            })
        });
        Arc::clone(slot)
    }

    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<blake3::Hash, Arc<Slot>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    fn lock(&self) -> MutexGuard<'_, Weak<Loaded>> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Loads a component.
pub(crate) async fn load(
    room: &Arc<Room>,
    component: ComponentBytes,
) -> Result<ToolComponent, LoadError> {
    // The digest for people is a slower one. It is computed once, and then comes from the cache.
    let component = blocking(room, move |_| component.identify()).await??;
    let slot = room.loads.slot(component.hash);
    let _turn = slot.turn.acquire().await;
    if let Some(loaded) = slot.lock().upgrade() {
        return Ok(ToolComponent::of(loaded));
    }
    let loaded = Arc::new(load_new(room, component).await?);
    *slot.lock() = Arc::downgrade(&loaded);
    Ok(ToolComponent::of(loaded))
}

async fn load_new(room: &Arc<Room>, component: Identified) -> Result<Loaded, LoadError> {
    let Identified {
        hash, size_bytes, ..
    } = component;
    let cached = blocking(room, move |room| from_cache(room, hash)).await?;
    let (linked, definitions, digest, compiled) = match cached {
        Some((linked, definitions, digest)) => (linked, definitions, digest, Compiled::FromCache),
        None => {
            let bytes = blocking(room, move |_| component.into_bytes()).await??;
            let machine_code = compile(room, bytes.clone()).await?;
            let (linked, machine_code) =
                blocking(room, move |room| from_source(room, machine_code)).await??;
            let asked = match &linked.entry {
                EntryPoint::Contract(pre) => Some(definitions::ask(room, pre).await?),
                EntryPoint::Plain(_) => None,
            };
            let (linked, definitions, digest) = blocking(room, move |room| {
                let raw = match (asked, &linked.entry) {
                    (None, EntryPoint::Plain(plain)) => plain.definitions(&Docs::read(&bytes)),
                    (asked, _) => asked.unwrap_or_default(),
                };
                let definitions = definitions::check(raw)?;
                let digest = Digest::of(&bytes);
                if let Some(cache) = &room.cache {
                    cache.put(hash, digest, definitions.all(), &machine_code);
                }
                Ok::<_, LoadError>((linked, definitions, digest))
            })
            .await??;
            (linked, definitions, digest, Compiled::Now)
        }
    };
    Ok(Loaded {
        digest,
        size_bytes,
        imports: linked.imports,
        definitions,
        compiled,
        allocator: linked.allocator,
        entry: linked.entry,
        tenant: Tenant::new(room, None, None),
        room: Arc::clone(room),
    })
}

/// Compiles a component, in a child process if there is a program for it.
async fn compile(room: &Arc<Room>, bytes: Bytes) -> Result<Vec<u8>, LoadError> {
    let component = bytes.clone();
    blocking(room, move |_| code::check_structure(&component)).await??;
    let _permit = room.compiling.acquire().await;
    let Some(compiler) = room.compiler.clone() else {
        IN_PROCESS.call_once(|| {
            tracing::warn!("components are compiled in this process, which one of them can keep busy for long. Set `SandboxConfig::compiler`");
        });
        return blocking(room, move |room| code::compile(&room.engines.main, &bytes)).await?;
    };
    let (layout, engine) = (room.engines.layout, fingerprint(&room.engines.main));
    // On the guests' threads, which last as long as the sandbox: the child ends with the thread that started it.
    let child = room
        .guests
        .spawn(async move { compiler.compile(layout, engine, bytes).await });
    AbortOnDropHandle::new(child)
        .await
        .map_err(|error| host_failed(&error))?
}

/// Runs work that takes long beside the guests' threads.
async fn blocking<T: Send + 'static>(
    room: &Arc<Room>,
    work: impl FnOnce(&Room) -> T + Send + 'static,
) -> Result<T, LoadError> {
    let shared = Arc::clone(room);
    room.guests
        .spawn_blocking(move || work(&shared))
        .await
        .map_err(|error| host_failed(&error))
}

fn host_failed(why: &dyn Display) -> LoadError {
    tracing::error!("the host failed while it loaded a component: {why}");
    LoadError::new(
        LoadFault::HostFailed,
        "the host failed while it loaded the component; nothing of it ran. The log says more",
    )
}

/// Takes a component from the cache, where it was put after it had passed every check. What is there and does not load any
/// more is made anew.
fn from_cache(room: &Room, hash: blake3::Hash) -> Option<(LinkedComponent, Definitions, Digest)> {
    let entry = room.cache.as_ref()?.get(hash)?;
    let linked = code::instantiate(&room.engines, &entry.code())
        .map_err(|error| error.root_cause().to_string())
        .and_then(|(component, allocator)| {
            link(&component, allocator).map_err(|error| error.to_string())
        });
    let definitions = entry
        .definitions()
        .and_then(|raw| Definitions::check(raw).map_err(|error| error.to_string()));
    let found = linked.and_then(|linked| {
        let definitions = definitions?;
        match &linked.entry {
            EntryPoint::Plain(plain) if !plain.has_all(definitions.all()) => {
                Err("its functions are other tools by now".to_owned())
            }
            _ => Ok((linked, definitions, entry.digest())),
        }
    });
    match found {
        Ok(found) => Some(found),
        Err(why) => {
            tracing::warn!("a compiled tool in the cache does not load and is made anew: {why}");
            None
        }
    }
}

fn from_source(
    room: &Room,
    machine_code: Vec<u8>,
) -> Result<(LinkedComponent, Vec<u8>), LoadError> {
    let (component, allocator) =
        code::instantiate(&room.engines, &TrustedCode::made(&machine_code)).map_err(|error| {
            LoadError::new(
                LoadFault::CompileLimit,
                format!(
                    "the compiled component cannot be loaded: {}. It may need more memory than there is",
                    text::sanitize(&error.root_cause().to_string(), MAX_DETAIL_BYTES)
                ),
            )
        })?;
    Ok((link(&component, allocator)?, machine_code))
}
