//! Components in OCI registries: pulls, checks, caches, pushes and signs them. Knows nothing of
//! WebAssembly beyond media types: a component is bytes here.
//!
//! ```no_run
//! use agent_host_registry::{Blobs, Client, ClientConfig, PublicKey};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let reference = "oci://registry.example/tools/resize:1.2.0".parse()?;
//! let client = Client::new(&reference, &ClientConfig::default()).await?;
//! let blobs = Blobs::open("/var/cache/components".as_ref(), 256 << 20)?;
//!
//! let resolved = client.resolve(&reference, &blobs).await?;
//! let key: PublicKey = std::fs::read_to_string("acme.pub")?.parse()?;
//! let keys = [key];
//! let signed_by = client.verify(&resolved, &keys, &blobs).await?;
//! let component = client.component(&resolved, &blobs).await?;
//! # let _ = (signed_by, component);
//! # Ok(())
//! # }
//! ```

#![cfg_attr(
    test,
    expect(clippy::too_many_lines, reason = "a test is often one table of cases")
)]

mod auth;
mod blobs;
mod client;
mod credentials;
mod download;
mod error;
mod helper;
mod index;
mod index_artifact;
mod key;
mod layout;
mod login;
mod manifest;
mod media_type;
mod pinned_url;
mod pull;
mod push;
mod reference;
mod referrers;
mod remote;
mod signature;
mod tags;
#[cfg(test)]
mod tests;
mod wasm_config;

pub use blobs::Blobs;
pub use client::{Client, ClientConfig};
pub use credentials::CredentialSource;
pub use error::RegistryError;
pub use index::{INDEX_FILE, Index, IndexEntry, MAX_INDEX_BYTES};
pub use key::{PublicKey, SigningKey};
pub use layout::{LayoutError, write_layout};
pub use login::Login;
pub use manifest::{Descriptor, Manifest, component_layer};
pub use pinned_url::PinnedUrl;
pub use pull::{PolicyLayer, Resolved};
pub use push::{Package, Pushed};
pub use reference::Reference;
pub use remote::Remote;
pub use signature::{SignatureForm, verify_bundle, verify_simple};
pub use tags::{newer_tag, parse_version};
pub use wasm_config::{WasmConfig, WasmInterface};

/// The largest component that is pulled or pushed, in bytes: as large as one that is loaded.
pub const MAX_COMPONENT_BYTES: u64 = 64 * 1024 * 1024;

/// The largest manifest or index, in bytes. Those of components have about 1 KiB.
pub const MAX_MANIFEST_BYTES: u64 = 256 * 1024;

/// The largest signature bundle, policy or configuration, in bytes.
pub const MAX_DOCUMENT_BYTES: u64 = 64 * 1024;

/// The maximum of referrers or signature layers that are looked at.
pub const MAX_REFERRERS: usize = 16;
