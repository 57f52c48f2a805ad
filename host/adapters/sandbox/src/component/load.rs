//! Loads components: from the cache, or by compiling, linking and querying them. Loads of equal
//! bytes share one component.

#[cfg(test)]
mod tests;

use crate::{
    component::{
        bytes::{ComponentBytes, Identified},
        cache::Described,
        code::{self, MachineCode, TrustedCode},
        definitions::{self, Queried},
        error::LoadError,
        extism,
        link::{EntryPoint, LinkedComponent, link},
        plain::Docs,
        shared::SharedParts,
        skill, structure,
        tool::{Compiled, HandleState, Loaded, ToolComponent},
    },
    mutex::lock,
};
use agent_host_engine::definitions::{Definitions, InputChecks, ToolNote};
use agent_host_types::{id::Digest, reason::Reason};
use bytes::Bytes;
use std::{
    collections::HashMap,
    error::Error,
    fmt::Display,
    sync::{Arc, Mutex, Once, Weak},
};
use tokio_util::task::AbortOnDropHandle;

/// Warns once that components are compiled in this process.
static IN_PROCESS: Once = Once::new();

/// The components that are loaded or loading, by their hashes, so that each is compiled once.
#[derive(Default)]
pub(crate) struct LoadedComponents(Mutex<HashMap<blake3::Hash, Arc<LoadSlot>>>);

/// Receives the size of a component, in bytes, before it is compiled.
pub(crate) type OnCompile<'a> = dyn Fn(u64) + Send + Sync + 'a;

/// Locked while the component loads; other loads of it wait and then find it.
type LoadSlot = tokio::sync::Mutex<Weak<Loaded>>;

impl LoadedComponents {
    fn slot(&self, hash: blake3::Hash) -> Arc<LoadSlot> {
        let mut slots = lock(&self.0);
        // Removes components without handles and without waiting loads.
        slots.retain(|_, slot| {
            Arc::get_mut(slot).is_none_or(|slot| slot.get_mut().strong_count() > 0)
        });
        Arc::clone(slots.entry(hash).or_default())
    }
}

pub(crate) async fn load(
    shared: &Arc<SharedParts>,
    component: ComponentBytes,
    on_compile: &OnCompile<'_>,
) -> Result<ToolComponent, LoadError> {
    // BLAKE3 identifies the component. The slower SHA-256 digest is computed once and then cached.
    let component = blocking(shared, move |_| component.identify()).await??;
    let slot = shared.components.slot(component.hash);
    let mut slot = slot.lock().await;
    if let Some(loaded) = slot.upgrade() {
        return Ok(ToolComponent::new(loaded));
    }
    let loaded = Arc::new(load_new(shared, component, on_compile).await?);
    *slot = Arc::downgrade(&loaded);
    Ok(ToolComponent::new(loaded))
}

async fn load_new(
    shared: &Arc<SharedParts>,
    component: Identified,
    on_compile: &OnCompile<'_>,
) -> Result<Loaded, LoadError> {
    let Identified {
        hash, size_bytes, ..
    } = component;
    let cached = blocking(shared, move |shared| from_cache(shared, hash)).await?;
    let (linked, texts, digest, compiled) = match cached {
        Some((linked, loaded, digest)) => (linked, loaded, digest, Compiled::FromCache),
        None => {
            on_compile(size_bytes);
            let bytes = blocking(shared, move |_| component.into_bytes()).await??;
            let module = bytes.clone();
            let composed = blocking(shared, move |_| extism::compose(module)).await?;
            let (component, note) = composed?;
            let mut machine_code = compile(shared, component).await?;
            machine_code.left_out.extend(note);
            let (linked, machine_code) =
                blocking(shared, move |shared| from_source(shared, machine_code)).await??;
            let queried = match Queried::new(&linked.entry_point) {
                Some(component) => Some(definitions::query(shared, component).await?),
                None => None,
            };
            let (linked, texts, digest) = blocking(shared, move |shared| {
                let raw = match (queried, &linked.entry_point) {
                    (None, EntryPoint::Plain(plain)) => plain.definitions(&Docs::read(&bytes)),
                    (queried, _) => queried.unwrap_or_default(),
                };
                let mut left_out = machine_code.left_out;
                if let EntryPoint::Act(act) = &linked.entry_point {
                    left_out.extend(act.notes(&bytes));
                }
                let described = Described {
                    tools: raw,
                    left_out,
                    skill: skill::read(&bytes).to_vec(),
                };
                let texts = select(&linked, described.clone())
                    .map_err(|error| LoadError::Definitions(error.to_string()))?;
                let digest = Digest::of(&bytes);
                if let Some(cache) = &shared.cache {
                    cache.put(hash, digest, &described, &machine_code.bytes);
                }
                Ok::<_, LoadError>((linked, texts, digest))
            })
            .await??;
            (linked, texts, digest, Compiled::Now)
        }
    };
    let Texts {
        definitions,
        notes,
        left_out,
        skill,
    } = texts;
    let mut notes: Vec<String> = notes.iter().map(ToString::to_string).collect();
    notes.extend(left_out);
    if let EntryPoint::Plain(plain) = &linked.entry_point {
        notes.extend_from_slice(&plain.refused);
    }
    Ok(Loaded {
        digest,
        size_bytes,
        definitions,
        notes,
        skill,
        compiled,
        linked,
        handle: HandleState::new(shared, None, None),
        shared: Arc::clone(shared),
    })
}

/// Compiles a component, in a child process if there is a compile worker.
async fn compile(shared: &Arc<SharedParts>, bytes: Bytes) -> Result<MachineCode, LoadError> {
    let component = bytes.clone();
    blocking(shared, move |_| structure::check(&component)).await??;
    let _permit = shared.compiling.acquire().await;
    let Some(compiler) = shared.compiler.clone() else {
        IN_PROCESS.call_once(|| {
            tracing::warn!("components are compiled in this process, and one of them can keep it busy for a long \
                time. Set `SandboxConfig::compiler`");
        });
        let compiled = blocking(shared, move |shared| {
            code::compile(&shared.engines.compilers(), &bytes)
        });
        return Ok(compiled.await??);
    };
    let (layout, engines) = (shared.engines.layout, shared.engines.compilers());
    // The child ends with the thread that started it; a guest thread lives as long as the sandbox.
    let child = shared
        .guests
        .spawn_host(async move { compiler.compile(layout, &engines, bytes).await });
    AbortOnDropHandle::new(child)
        .await
        .map_err(|error| host_failed(&error))?
}

/// Runs blocking work off the guest threads.
async fn blocking<T: Send + 'static>(
    shared: &Arc<SharedParts>,
    work: impl FnOnce(&SharedParts) -> T + Send + 'static,
) -> Result<T, LoadError> {
    let cloned = Arc::clone(shared);
    shared
        .guests
        .spawn_blocking(move || work(&cloned))
        .await
        .map_err(|error| host_failed(&error))
}

fn host_failed(error: &dyn Display) -> LoadError {
    tracing::error!("the host failed while loading a component: {error}");
    LoadError::HostFailed
}

/// Loads a component from the cache, which holds only components that passed every check. An entry
/// that no longer loads is replaced.
fn from_cache(
    shared: &SharedParts,
    hash: blake3::Hash,
) -> Option<(LinkedComponent, Texts, Digest)> {
    let entry = shared.cache.as_ref()?.get(hash)?;
    let load = || -> Result<_, Box<dyn Error>> {
        let code = TrustedCode::sealed(&entry.code);
        let (component, allocator) = code::instantiate(&shared.engines, &code)
            .map_err(|error| error.root_cause().to_string())?;
        let linked = link(&component, allocator, &entry.described.left_out)?;
        if let EntryPoint::Plain(plain) = &linked.entry_point
            && !plain.has_all(&entry.described.tools)
        {
            return Err("this version names its functions differently".into());
        }
        let texts = select(&linked, entry.described)?;
        Ok((linked, texts, entry.digest))
    };
    let loaded = load().map_err(|reason| {
        tracing::warn!(
            "a compiled tool in the cache does not load and is compiled again: {reason}"
        );
    });
    loaded.ok()
}

/// The checked texts of a component.
struct Texts {
    /// The usable definitions.
    definitions: Definitions,
    /// Notes on the others.
    notes: Vec<ToolNote>,
    /// [`Described::left_out`].
    left_out: Vec<String>,
    /// The archive of the skill.
    skill: Vec<u8>,
}

fn select(linked: &LinkedComponent, described: Described) -> Result<Texts, Reason> {
    let (definitions, notes) = match linked.entry_point {
        EntryPoint::Hooks | EntryPoint::Program(_) => (Definitions::default(), Vec::new()),
        _ => Definitions::select(described.tools, InputChecks::Host)?,
    };
    Ok(Texts {
        definitions,
        notes,
        left_out: described.left_out,
        skill: described.skill,
    })
}

fn from_source(
    shared: &SharedParts,
    machine_code: MachineCode,
) -> Result<(LinkedComponent, MachineCode), LoadError> {
    let code = TrustedCode::compiled(&machine_code.bytes);
    let (component, allocator) = code::instantiate(&shared.engines, &code)
        .map_err(|error| LoadError::MachineCode(code::shorten(&error.root_cause().to_string())))?;
    let linked = link(&component, allocator, &machine_code.left_out)?;
    Ok((linked, machine_code))
}
