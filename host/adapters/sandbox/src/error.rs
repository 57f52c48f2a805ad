//! Errors of starting a sandbox.

use std::{error::Error, io};

/// Why the sandbox does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// A number in the configuration is out of bounds.
    #[error("`{name}` is {value}; set it to a number from {min} to {max}")]
    Config {
        /// The setting.
        name: &'static str,
        /// Its value.
        value: usize,
        /// The smallest allowed value.
        min: usize,
        /// The largest allowed value.
        max: usize,
    },
    /// The engine refuses its configuration on this machine.
    #[error("the WebAssembly engine does not start on this machine: {0}")]
    Engine(#[source] Box<dyn Error + Send + Sync>),
    /// The system refuses threads.
    #[error("cannot start the guest threads: {0}")]
    Threads(#[source] io::Error),
    /// The HTTP client for guests cannot be set up.
    #[error("cannot set up the HTTP client for tools: {0}")]
    Http(#[source] Box<dyn Error + Send + Sync>),
}
