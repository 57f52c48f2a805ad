//! The configuration of a component in a registry, by the CNCF's layout of WebAssembly in OCI.

use agent_host_types::id::Digest;
use serde::{Deserialize, Serialize};

/// The time in every configuration that is written, so that equal components have equal manifests;
/// `wkg` reads no configuration without one.
const CREATED: &str = "1970-01-01T00:00:00Z";

/// The configuration of a component. Read from a registry, it is untrusted text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WasmConfig {
    /// The time of the push, by RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    /// The author.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// `wasm`.
    pub architecture: String,
    /// `wasip2` for components of WASI 0.2.
    pub os: String,
    /// The digests of the layers.
    #[serde(default)]
    pub layer_digests: Vec<String>,
    /// The interface of the component.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub component: Option<WasmInterface>,
}

/// The interface of a component.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WasmInterface {
    /// The names of what it exports.
    #[serde(default)]
    pub exports: Vec<String>,
    /// The names of what it imports.
    #[serde(default)]
    pub imports: Vec<String>,
    /// The name of the world that it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

impl WasmConfig {
    /// Returns that of a component with this digest.
    #[must_use]
    pub fn new(component: Digest, interface: WasmInterface) -> Self {
        Self {
            created: Some(CREATED.to_owned()),
            author: None,
            architecture: "wasm".to_owned(),
            os: "wasip2".to_owned(),
            layer_digests: vec![component.to_string()],
            component: Some(interface),
        }
    }
}
