//! Runs tool components on wasmtime: each call in an instance of its own, with every limit on, behind the gate.
//!
//! Nothing outside this crate uses wasmtime, and nothing in this crate knows of models, sessions or configuration files.

mod admission;
mod bindings;
mod cache;
mod call;
mod caps;
mod code;
mod compiler;
mod component_bytes;
mod config;
mod convert;
mod definitions;
mod engine;
mod error;
mod failure;
mod gate;
mod guest;
mod guest_runtime;
mod limiter;
mod link;
mod linker;
mod load;
#[cfg(test)]
#[path = "../../../tests/support/mutations.rs"]
mod mutations;
mod plain;
mod sandbox;
#[cfg(test)]
mod secret_values;
mod standing;
mod stdio;
mod store;
mod structure;
mod telemetry;
mod threads;
mod ticker;
mod turns;

use agent_host_core::text;
#[cfg(test)]
use agent_host_test_guests as guests;

pub use agent_host_core::secrets::{MAX_SECRET_BYTES, MIN_SECRET_BYTES, SecretError, Secrets};
pub use cache::{CacheContent, CachedComponent, CompileCache, Pruned};
pub use call::{Call, Talk};
pub use caps::http::{Recording, RecordingError, RecordingLineError};
pub use code::MAX_COMPONENT_BYTES;
pub use compiler::{CompileLimits, CompileWorker, Confinement, compile_worker};
pub use component_bytes::ComponentBytes;
pub use config::{Pooling, SandboxConfig};
pub use engine::Allocator;
pub use error::{LoadError, LoadFault, SandboxError};
pub use load::{Compiled, ToolComponent};
pub use sandbox::Sandbox;
pub use structure::STRUCTURE_CAPS;
pub use threads::start_runtime;
