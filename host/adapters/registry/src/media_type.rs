//! Media types of components and of their signatures in registries.

/// An image manifest of OCI, the only kind of manifest that is read.
pub(crate) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";

/// An index of OCI: of images, or of referrers.
pub(crate) const INDEX: &str = "application/vnd.oci.image.index.v1+json";

/// The configuration of a component, by the CNCF's layout of WebAssembly in OCI.
pub(crate) const WASM_CONFIG: &str = "application/vnd.wasm.config.v0+json";

/// The configuration `{}` of manifests that need none.
pub(crate) const EMPTY: &str = "application/vnd.oci.empty.v1+json";

/// The layer that is written.
pub(crate) const WASM: &str = "application/wasm";

/// The layers that are read as a component: the standard one and those of wassette.
pub(crate) const COMPONENT_LAYERS: [&str; 3] = [
    WASM,
    "application/vnd.wasm.component.v1",
    "application/vnd.bytecodealliance.wasm.component.layer.v0+wasm",
];

/// The layers with permissions that the author asks for, of wassette. They are shown and never
/// applied.
pub(crate) const POLICY_LAYERS: [&str; 3] = [
    "application/vnd.wasm.policy.v1+yaml",
    "application/vnd.wassette.policy+yaml",
    "application/x-yaml",
];

/// An index of components that can be searched, which is also the artifact type of its manifest.
pub(crate) const INDEX_OF_COMPONENTS: &str = "application/vnd.agent-host.index.v1+json";

/// A Sigstore bundle, which is also the artifact type of the manifest that carries it.
pub(crate) const BUNDLE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";

/// The payload of cosign's older signatures.
pub(crate) const SIMPLE_SIGNING: &str = "application/vnd.dev.cosign.simplesigning.v1+json";

/// The payload type of a DSSE envelope with an in-toto statement.
pub(crate) const IN_TOTO: &str = "application/vnd.in-toto+json";
