//! From `agent.toml` to a running host. This is the crate that embedders and the CLI use; it wires the rooms together and
//! decides nothing that they could decide themselves.

mod builtin;
mod check;
mod components;
pub mod config;
mod entry_file;
mod error;
mod executables;
mod explain;
mod host;
mod lock_diff;
mod lock_file;
#[cfg(test)]
#[path = "../../../tests/support/mutations.rs"]
mod mutations;
mod no_model;
mod recording;
mod registry;
mod servers;
mod store;
mod trust;
mod trusted_file;

pub use builtin::{BUILTINS, Builtin, builtin};
pub use check::{CheckedModel, ModelAnswer, Role, check_models};
pub use components::Entry;
pub use config::{Config, Environment, Overrides};
pub use error::OpenError;
pub use explain::{ExplainedCall, Explanation, Suggestion, suggestions};
pub use host::{Host, model};
pub use lock_diff::difference;
pub use lock_file::LockFile;
pub use registry::Registry;
pub use servers::ServerEntry;
pub use store::{open_store, project};
pub use trust::{TrustFile, Trusted};
pub use trusted_file::read_secret;
