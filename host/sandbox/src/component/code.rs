//! Machine code: compiled here, or taken from the cache, and made into a component. The only `unsafe` of the crate is here.

use crate::{
    component::{
        cache::Sealed,
        structure::{self, StructureFault},
    },
    engine::{Allocator, Engines},
    error::{LoadError, LoadFault},
    text,
};
use wasmparser::{Validator, WasmFeatures};
use wasmtime::{Engine, OutOfMemory, component::Component};

/// The largest component, in bytes. Python with its standard library has 18 MiB.
pub const MAX_COMPONENT_BYTES: u64 = 64 * 1024 * 1024;

/// What is shown of a compiler's error, in bytes.
const MAX_DETAIL_BYTES: usize = 300;

/// Machine code that this process or its compiling child made of a component, or that carries a valid keyed hash of a process
/// of the same user. The child is this very program and answers only its parent; but a component that takes over its compiler
/// (a fault in the compiler's code, not a slow or a large component) decides what it answers.
pub(crate) struct TrustedCode<'a>(Place<'a>);

/// Where the code is.
enum Place<'a> {
    Memory(&'a [u8]),
    File(&'a Sealed),
}

impl<'a> TrustedCode<'a> {
    /// Takes the caller's word: `bytes` came from [`compile`], in this process or in its child.
    pub(crate) fn made(bytes: &'a [u8]) -> Self {
        Self(Place::Memory(bytes))
    }

    /// Takes the caller's word: the file has passed the cache's keyed hash.
    pub(crate) fn sealed(file: &'a Sealed) -> Self {
        Self(Place::File(file))
    }
}

/// Refuses a file by its size alone.
pub(crate) fn check_size(bytes: u64) -> Result<(), LoadError> {
    if bytes <= MAX_COMPONENT_BYTES {
        return Ok(());
    }
    Err(LoadError::new(
        LoadFault::TooLarge,
        format!(
            "the component has {bytes} bytes, more than the {MAX_COMPONENT_BYTES} that are loaded. Strip its debug information and custom sections, or split it"
        ),
    ))
}

/// Refuses a component by its structure. Reads it once, and takes no memory.
pub(crate) fn check_structure(bytes: &[u8]) -> Result<(), LoadError> {
    structure::check(bytes).map_err(|fault| structure_error(&fault))
}

/// Compiles a component whose structure was checked, in this process and without limits.
pub(crate) fn compile(engine: &Engine, bytes: &[u8]) -> Result<Vec<u8>, LoadError> {
    engine.precompile_component(bytes).map_err(|error| {
        if error.is::<OutOfMemory>() {
            return LoadError::new(
                LoadFault::CompileLimit,
                "the component cannot be compiled with the memory that there is. Build it with optimisation, or split it",
            );
        }
        refused(bytes, &error)
    })
}

/// Makes a component of machine code: on the main engine if it fits there, else on the one without a pool.
pub(crate) fn instantiate(
    engines: &Engines,
    code: &TrustedCode<'_>,
) -> wasmtime::Result<(Component, Allocator)> {
    let first = deserialize(&engines.main, code);
    let (error, overflow) = match (first, &engines.overflow) {
        (Ok(component), _) => return Ok((component, engines.allocator.clone())),
        (Err(error), None) => return Err(error),
        (Err(error), Some(overflow)) => (error, overflow),
    };
    let component = deserialize(overflow, code)?;
    let why = format!(
        "the component does not fit into the pool: {}",
        text::sanitize(&error.root_cause().to_string(), MAX_DETAIL_BYTES)
    );
    Ok((component, Allocator::OnDemand { why }))
}

#[expect(
    unsafe_code,
    reason = "wasmtime loads machine code only this way; the type of the argument says where it came from"
)]
fn deserialize(engine: &Engine, code: &TrustedCode<'_>) -> wasmtime::Result<Component> {
    // SAFETY: this needs bytes that `precompile_component` made. `TrustedCode` is made of such bytes only: of those
    // that `compile` just returned, here or in the child, and of those
    // whose keyed hash the cache has checked. A file in memory is sealed before, so what is mapped now and read later is that.
    unsafe {
        match code.0 {
            Place::Memory(bytes) => Component::deserialize(engine, bytes),
            Place::File(file) => match file.path() {
                Some(path) => Component::deserialize_file(engine, path),
                None => Component::deserialize(engine, file.bytes()?),
            },
        }
    }
}

fn structure_error(fault: &StructureFault) -> LoadError {
    match fault {
        StructureFault::CoreModule => LoadError::new(
            LoadFault::NotAComponent,
            format!(
                "{fault}, not a component. Build it for the target wasm32-wasip2, or wrap it with `wasm-tools component new`"
            ),
        ),
        StructureFault::Malformed(why) => not_a_component(why),
        StructureFault::TooMuch { .. } => LoadError::new(
            LoadFault::CompileLimit,
            format!(
                "the component would take too long to compile: {fault}. Build it with optimisation, or split it"
            ),
        ),
    }
}

fn not_a_component(why: &str) -> LoadError {
    // The parser spreads some of its messages over a dozen lines.
    let why = why.split_whitespace().collect::<Vec<_>>().join(" ");
    LoadError::new(
        LoadFault::NotAComponent,
        format!(
            "the bytes are not a WebAssembly component: {}. The file may be cut off or something else; build or download it again",
            text::sanitize(&why, MAX_DETAIL_BYTES)
        ),
    )
}

/// Tells a component that is malformed from one that is well-formed and needs a feature that is switched off: the second is
/// valid once every feature is switched on.
fn refused(bytes: &[u8], error: &wasmtime::Error) -> LoadError {
    let why = error.root_cause().to_string();
    let valid = Validator::new_with_features(WasmFeatures::all()).validate_all(bytes);
    match valid {
        Ok(_) => LoadError::new(
            LoadFault::UnsupportedFeature,
            format!(
                "the component needs a WebAssembly feature that tools do not get here: {}. Build it without (threads, garbage collection, exceptions, 64-bit memory and async functions are off)",
                text::sanitize(&why, MAX_DETAIL_BYTES)
            ),
        ),
        Err(_) => not_a_component(&why),
    }
}
