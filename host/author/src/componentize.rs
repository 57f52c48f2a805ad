//! From a core module that a C or Go compiler made to a component: the types of the contract are put into it, and its WASI 0.1
//! calls are adapted to WASI 0.2. What the module does not call, the component does not import.

#[cfg(test)]
mod tests;

use crate::{error::AuthorError, strip, wit};
use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
};
use wit_component::{ComponentEncoder, StringEncoding, embed_component_metadata};

/// Makes the component. The module exports the contract's functions by the names of the canonical ABI, as the SDKs of C and Go do.
///
/// # Errors
/// When the bytes are no core module, or one that does not fit the contract: an export is missing or has another type, or it
/// imports what there is not.
pub(crate) fn componentize(mut module: Vec<u8>) -> Result<Vec<u8>, AuthorError> {
    let (resolve, world) = wit::everything()?;
    let component = embed_component_metadata(&mut module, &resolve, world, StringEncoding::UTF8)
        .and_then(|()| {
            // What the adapter was made with says nothing of the tool.
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
        AuthorError::usage(format!(
            "the compiled module is not a tool: {error:#}. The SDK defines what a tool exports and imports; is it compiled in, and is nothing else exported or declared by hand?"
        ))
    })
}
