//! Reads the interface of a component.

use agent_host_types::reason::Reason;
use wasmparser::{Validator, WasmFeatures};
use wit_component::DecodedWasm;

/// Decodes a component of any features. It is validated first: the decoder fills as much memory as
/// the header of a section claims, which is up to four gigabytes in a file of a few bytes.
///
/// # Errors
/// It is malformed, as the end of a sentence.
pub(crate) fn decode(component: &[u8]) -> Result<DecodedWasm, Reason> {
    Validator::new_with_features(WasmFeatures::all())
        .validate_all(component)
        .map_err(|error| Reason::from(error.to_string()))?;
    wit_component::decode(component).map_err(|error| Reason::from(format!("{error:#}")))
}
