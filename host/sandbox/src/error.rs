//! What can go wrong before a call: the sandbox does not start, or a component does not load. Both are for the operator;
//! what goes wrong in a call is a `ToolFailure` of the core crate and is for the model.

use std::fmt;

/// Why the sandbox does not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// A number in the configuration is out of its bounds.
    #[error("`{name}` is {value}; set it to a number from {least} to {most}")]
    Config {
        /// The setting.
        name: &'static str,
        /// What it is set to.
        value: usize,
        /// The least that is allowed.
        least: usize,
        /// The most that is allowed.
        most: usize,
    },
    /// The engine refuses its configuration on this machine.
    #[error("the WebAssembly engine does not start on this machine: {0}")]
    Engine(String),
    /// The operating system gives no more threads.
    #[error("the threads for guests cannot be started: {0}")]
    Threads(#[source] std::io::Error),
    /// The HTTP client for guests cannot be set up.
    #[error("the HTTP client for tools cannot be set up: {0}")]
    Http(String),
}

/// Why a component does not load. The kebab-case names are part of the contract with operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LoadFault {
    /// Its file cannot be read, or changes meanwhile.
    Unreadable,
    /// The bytes are not a WebAssembly component.
    NotAComponent,
    /// It is a component, but not one for this version of `agent:tool`, or its definitions break the contract.
    ContractMismatch,
    /// It imports something that this host does not offer.
    MissingCapability,
    /// It has too many bytes.
    TooLarge,
    /// It takes too long or too much memory to compile, or its structure says that it would.
    CompileLimit,
    /// It needs a WebAssembly feature that is switched off here.
    UnsupportedFeature,
    /// The host failed, and nothing is said of the component: the compiler does not start, or the machine gives no more.
    HostFailed,
}

impl LoadFault {
    /// Every fault, for tables and tests.
    pub const ALL: [Self; 8] = [
        Self::Unreadable,
        Self::NotAComponent,
        Self::ContractMismatch,
        Self::MissingCapability,
        Self::TooLarge,
        Self::CompileLimit,
        Self::UnsupportedFeature,
        Self::HostFailed,
    ];

    /// The kebab-case name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unreadable => "unreadable",
            Self::NotAComponent => "not-a-component",
            Self::ContractMismatch => "contract-mismatch",
            Self::MissingCapability => "missing-capability",
            Self::TooLarge => "too-large",
            Self::CompileLimit => "compile-limit",
            Self::UnsupportedFeature => "unsupported-feature",
            Self::HostFailed => "host-failed",
        }
    }
}

impl fmt::Display for LoadFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A component that does not load. The message says what, why and what to do next, in one paragraph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} ({fault})")]
pub struct LoadError {
    /// Which fault it is.
    pub fault: LoadFault,
    /// The text for people.
    pub message: String,
}

impl LoadError {
    pub(crate) fn new(fault: LoadFault, message: impl Into<String>) -> Self {
        Self {
            fault,
            message: message.into(),
        }
    }
}
