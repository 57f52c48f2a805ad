//! Compiles components and loads their machine code. Contains the crate's only `unsafe`.

use crate::{
    component::{cache::Sealed, error::LoadError, plain::without_async},
    engine::{Allocator, Compilers, Engines},
    text,
};
use wasmparser::{Validator, WasmFeatures};
use wasmtime::{Engine, OutOfMemory, component::Component};

/// The largest component, in bytes. Python with its standard library has 18 MiB.
pub const MAX_COMPONENT_BYTES: u64 = 64 * 1024 * 1024;

/// The bound on a compiler's message in an error, in bytes.
const MAX_DETAIL_BYTES: usize = 300;

/// Machine code compiled by this process or its child, or with a valid keyed hash by a process of
/// the same user. The child is this program and answers only its parent. But a component that takes
/// over its compiler through a fault in the compiler's code decides what the child answers.
pub(crate) struct TrustedCode<'a>(CodeSource<'a>);

enum CodeSource<'a> {
    Memory(&'a [u8]),
    File(&'a Sealed),
}

impl<'a> TrustedCode<'a> {
    /// Trusts the caller: `bytes` came from [`compile`], in this process or in its child.
    pub(crate) fn compiled(bytes: &'a [u8]) -> Self {
        Self(CodeSource::Memory(bytes))
    }

    /// Trusts the caller: the file has passed the cache's keyed hash.
    pub(crate) fn sealed(file: &'a Sealed) -> Self {
        Self(CodeSource::File(file))
    }
}

/// A compiled component.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct MachineCode {
    pub(crate) bytes: Vec<u8>,
    /// The exported functions that it does not have, because they are async; each with the reason.
    pub(crate) left_out: Vec<String>,
}

impl MachineCode {
    /// The code of a component with all its functions.
    fn whole(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            left_out: Vec::new(),
        }
    }
}

/// Why a component does not compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CompileError {
    OutOfMemory,
    Malformed(String),
    UnsupportedFeature(String),
}

impl From<CompileError> for LoadError {
    fn from(error: CompileError) -> Self {
        match error {
            CompileError::OutOfMemory => {
                Self::CompileLimit("the machine does not have enough memory".to_owned())
            }
            CompileError::Malformed(message) => Self::NotAComponent(message),
            CompileError::UnsupportedFeature(message) => Self::UnsupportedFeature(message),
        }
    }
}

pub(crate) fn check_size(bytes: u64) -> Result<(), LoadError> {
    if bytes <= MAX_COMPONENT_BYTES {
        return Ok(());
    }
    Err(LoadError::TooLarge(bytes))
}

/// Compiles a component of checked structure, in this process and without limits. One with async
/// functions is compiled for the engine that runs them, or without them.
pub(crate) fn compile(engines: &Compilers, bytes: &[u8]) -> Result<MachineCode, CompileError> {
    let error = match precompile(&engines.main, bytes) {
        Ok(bytes) => return Ok(MachineCode::whole(bytes)),
        Err(CompileError::Malformed(message)) => message,
        Err(other) => return Err(other),
    };
    // A component that is valid with every feature on needs one that is off.
    if let Err(error) = Validator::new_with_features(WasmFeatures::all()).validate_all(bytes) {
        return Err(CompileError::Malformed(shorten(&error.to_string())));
    }
    if let Some(concurrent) = &engines.concurrent {
        return match precompile(concurrent, bytes) {
            Ok(bytes) => Ok(MachineCode::whole(bytes)),
            Err(CompileError::Malformed(error)) => Err(CompileError::UnsupportedFeature(error)),
            Err(other) => Err(other),
        };
    }
    if let Some(rewritten) = without_async(bytes) {
        match precompile(&engines.main, &rewritten.component) {
            Ok(bytes) => {
                return Ok(MachineCode {
                    bytes,
                    left_out: rewritten.left_out,
                });
            }
            Err(CompileError::OutOfMemory) => return Err(CompileError::OutOfMemory),
            // It needs another feature, which the first error may not name.
            Err(_) => {}
        }
    }
    Err(CompileError::UnsupportedFeature(error))
}

fn precompile(engine: &Engine, bytes: &[u8]) -> Result<Vec<u8>, CompileError> {
    engine.precompile_component(bytes).map_err(|error| {
        if error.is::<OutOfMemory>() {
            return CompileError::OutOfMemory;
        }
        CompileError::Malformed(shorten(&error.root_cause().to_string()))
    })
}

/// Loads machine code into the engine that it was compiled for: that of async functions, or the
/// main one if the component fits there, else the one without a pool.
pub(crate) fn instantiate(
    engines: &Engines,
    code: &TrustedCode<'_>,
) -> wasmtime::Result<(Component, Allocator)> {
    let error = match deserialize(&engines.main, code) {
        Ok(component) => return Ok((component, engines.allocator.clone())),
        Err(error) => error,
    };
    let concurrent = engines.concurrent.as_ref();
    if let Some(Ok(component)) = concurrent.map(|engine| deserialize(engine, code)) {
        let why = "components with async functions have no pool".to_owned();
        return Ok((component, Allocator::OnDemand { why }));
    }
    let Some(overflow) = &engines.overflow else {
        return Err(error);
    };
    let component = deserialize(overflow, code)?;
    let why = format!(
        "the component does not fit into the pool: {}",
        shorten(&error.root_cause().to_string())
    );
    Ok((component, Allocator::OnDemand { why }))
}

#[expect(
    unsafe_code,
    reason = "wasmtime loads machine code only this way; the type of the argument says where it came from"
)]
fn deserialize(engine: &Engine, code: &TrustedCode<'_>) -> wasmtime::Result<Component> {
    // SAFETY: the bytes must come from `precompile_component`. `TrustedCode` holds only bytes that
    // `compile` returned, here or in the child, or whose keyed hash the cache has checked. A memory
    // file is sealed first, so what is mapped now and read later are the same bytes.
    unsafe {
        match code.0 {
            CodeSource::Memory(bytes) => Component::deserialize(engine, bytes),
            CodeSource::File(file) => match file.path() {
                Some(path) => Component::deserialize_file(engine, path),
                None => Component::deserialize(engine, file.bytes()?),
            },
        }
    }
}

/// Puts a message on one line, because the parser's may have a dozen, and bounds its length.
pub(super) fn shorten(message: &str) -> String {
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    text::sanitize(&message, MAX_DETAIL_BYTES)
}
