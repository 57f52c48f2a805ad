//! Converts a core module of a compiler, such as that of C or Go, into a component: embeds the
//! types of the contract and adapts WASI 0.1 calls to WASI 0.2. The component imports only what the
//! module calls.

#[cfg(test)]
mod tests;

use crate::{error::AuthorError, strip, wit};
use agent_host_types::reason::Reason;
use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
};
use wasmparser::{Parser, Payload};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};

/// Converts a module that exports the contract's functions by their canonical ABI names, as the C
/// and Go SDKs do.
///
/// # Errors
/// The bytes are no core module, or one that does not fit the contract: an export is missing or has
/// another type, or an import is unknown.
pub(crate) fn componentize(mut module: Vec<u8>) -> Result<Vec<u8>, AuthorError> {
    let (resolve, world) = wit::full_world()?;
    let component = embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)
        .map_err(|error| Reason::from(format!("{error:#}")))
        .and_then(|()| encode(&module));
    component.map_err(|error| {
        AuthorError::Usage(format!(
            "the compiled module is not a tool: {error}. The SDK defines what a tool exports and imports: check that \
             it is compiled in, and that nothing else is exported or declared by hand"
        ))
    })
}

/// Converts the core module of any compiler into a component. Bindings of `wit-bindgen` bring the
/// types of its world along; a module without has to export the contract's functions.
///
/// # Errors
/// The bytes are no core module, or one that does not fit its types.
pub fn component_of_module(module: Vec<u8>) -> Result<Vec<u8>, AuthorError> {
    if !has_types(&module) {
        return componentize(module);
    }
    encode(&module).map_err(|error| {
        AuthorError::Usage(format!(
            "the module does not match the world of its bindings: {error}. Compile it again with bindings for that \
             world"
        ))
    })
}

/// Returns whether a module has the section in which bindings leave the types of their world.
fn has_types(module: &[u8]) -> bool {
    let mut payloads = Parser::new(0).parse_all(module);
    payloads.any(|payload| match payload {
        Ok(Payload::CustomSection(section)) => section.name().starts_with("component-type"),
        // What is damaged is told by the conversion.
        Ok(_) | Err(_) => false,
    })
}

/// Converts a module with embedded types. An error is the reason, as the end of a sentence.
fn encode(module: &[u8]) -> Result<Vec<u8>, Reason> {
    // The adapter's producers are irrelevant for the tool.
    let adapter = strip::retain(WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER, |section| {
        section != "producers"
    })
    .map_err(|error| error.to_string())?;
    ComponentEncoder::default()
        .validate(true)
        .module(module)
        .and_then(|encoder| encoder.adapter(WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, &adapter))
        .and_then(|mut encoder| encoder.encode())
        .map_err(|error| format!("{error:#}").into())
}
