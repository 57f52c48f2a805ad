//! Converts a core module of a C or Go compiler into a component: embeds the types of the contract
//! and adapts WASI 0.1 calls to WASI 0.2. The component imports only what the module calls.

#[cfg(test)]
mod tests;

use crate::{error::AuthorError, strip, wit};
use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
};
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
        .and_then(|()| {
            // The adapter's producers are irrelevant for the tool.
            let adapter = strip::retain(WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER, |section| {
                section != "producers"
            })?;
            ComponentEncoder::default()
                .validate(true)
                .module(&module)?
                .adapter(WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, &adapter)?
                .encode()
        });
    component.map_err(|error| {
        AuthorError::Usage(format!(
            "the compiled module is not a tool: {error:#}. The SDK defines what a tool exports and imports; is it compiled in, and is nothing else exported or declared by hand?"
        ))
    })
}
