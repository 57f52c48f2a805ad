//! Errors of loading a component, for the operator. What fails in a call is a `ToolFailure`, which
//! is for the model.

use crate::component::{
    code::MAX_COMPONENT_BYTES,
    link::{CONTRACT_VERSION, EXPORT},
};
use std::{fmt, io, path::PathBuf};

/// Why a component does not load. The message names the cause and the next step, and ends with the
/// [`LoadFault`] in parentheses.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The file cannot be read.
    #[error(
        "cannot read the component's file: {0}. Check the path and its permissions (unreadable)"
    )]
    Unreadable(#[source] io::Error),
    /// The file was written to while it was read.
    #[error(
        "the component's file was changed while it was read; load it again when it is complete (unreadable)"
    )]
    Changed,
    /// The component has this many bytes, more than [`MAX_COMPONENT_BYTES`].
    #[error(
        "the component has {0} bytes, and the maximum is {MAX_COMPONENT_BYTES}. Strip its debug information and \
         custom sections, or split it (too-large)"
    )]
    TooLarge(u64),
    /// The bytes are a core module.
    #[error(
        "it is a core WebAssembly module, not a component. Build it for the target wasm32-wasip2, or wrap it with `wasm-tools component new` (not-a-component)"
    )]
    CoreModule,
    /// The bytes are malformed; with the parser's message.
    #[error(
        "the bytes are not a WebAssembly component: {0}. The file may be truncated or of another type; build or \
         download it again (not-a-component)"
    )]
    NotAComponent(String),
    /// The component's structure exceeds one of [`crate::STRUCTURE_CAPS`].
    #[error(
        "the component would take too long to compile: it has more than {max} {item}. Build it with optimisation, or split it (compile-limit)"
    )]
    TooComplex {
        /// The counted item.
        item: &'static str,
        /// The cap.
        max: u64,
    },
    /// Compiling exceeds this limit.
    #[error(
        "the component cannot be compiled within the limits: {0}. Build it with optimisation, or split it (compile-limit)"
    )]
    CompileLimit(String),
    /// The engine does not load the machine code; with its message.
    #[error(
        "cannot load the compiled component: {0}. It may need more memory than is available (compile-limit)"
    )]
    MachineCode(String),
    /// The component needs a WebAssembly feature that is off; with the compiler's message.
    #[error(
        "the component needs a WebAssembly feature that is disabled here: {0}. Build it without threads, garbage \
         collection, exceptions, 64-bit memory and async functions (unsupported-feature)"
    )]
    UnsupportedFeature(String),
    /// The component imports these interfaces, which the host does not have: their names as a list.
    #[error(
        "the component imports {0}, which this host does not offer. Tools can import WASI 0.2 and agent:tool@{CONTRACT_VERSION} (progress, partial, state, human, context, control, artifacts, tools); build it without other imports (missing-capability)"
    )]
    MissingCapability(String),
    /// The component imports these interfaces of WASI 0.3, which is off: their names as a list.
    #[error(
        "the component imports {0}. WASI 0.3 is off: set `wasi = \"0.3\"` in `[sandbox]`, or build the component for WASI 0.2 (missing-capability)"
    )]
    NewerWasi(String),
    /// The component is one of ACT, which stands on WASI 0.3, and that is off.
    #[error(
        "the component is one of ACT, which stands on WASI 0.3, and that is off: set `wasi = \"0.3\"` in `[sandbox]` (missing-capability)"
    )]
    ActIsOff,
    /// The component is a filter by itself.
    #[error(
        "the component is a filter: it imports `{EXPORT}` to stand in front of a tool. Compose it with one: `agent-host compose TOOL --with FILTER` (missing-capability)"
    )]
    UncomposedFilter,
    /// The component does not implement this version of `agent:tool`, for this reason.
    #[error(
        "the component is not a tool for this host, which needs the export `{EXPORT}`: {0}. Build it against the WIT package agent:tool@{CONTRACT_VERSION} (contract-mismatch)"
    )]
    ContractMismatch(String),
    /// The module is a plugin of the Extism ABI that does not run here, for this reason.
    #[error(
        "the module is an Extism plugin that this host does not run: {0}. Build it with a PDK of Extism 1 for one module, without other host functions (contract-mismatch)"
    )]
    Plugin(String),
    /// The tool definitions are invalid, for this reason.
    #[error(
        "cannot use the component's tool definitions: {0}. Correct them in its source; until then, use another \
         version (contract-mismatch)"
    )]
    Definitions(String),
    /// The functions of a plain component cannot be tools; with their reasons.
    #[error("{0} (contract-mismatch)")]
    Functions(String),
    /// The component is not a program.
    #[error(
        "the component is not a program: it exports neither `wasi:cli/run@0.2` nor `wasi:http/incoming-handler@0.2`. Build the program's main function for wasm32-wasip2, or run the component as a `[[tool]]` (contract-mismatch)"
    )]
    NotAProgram,
    /// The compile worker does not work.
    #[error("the compiler `{}` does not work: {reason}. Check it with `agent-host doctor`; it must be executable and \
        needs {memory_bytes} bytes of address space (host-failed)", exe.display())]
    CompilerBroken {
        /// The worker's program.
        exe: PathBuf,
        /// Its memory limit.
        memory_bytes: usize,
        /// The failure.
        reason: String,
    },
    /// The system refuses the process of the compile worker.
    #[error(
        "cannot start the process that compiles components: {0}. Raise this user's or service's limits on processes \
         (`ulimit -u`), open files (`ulimit -n`) or memory, or stop other programs (host-failed)"
    )]
    NoProcess(#[source] io::Error),
    /// The host failed.
    #[error(
        "the host failed while loading the component; none of it ran. See the log for details (host-failed)"
    )]
    HostFailed,
}

/// The kind of a [`LoadError`]. The kebab-case names are part of the contract with operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LoadFault {
    /// The file cannot be read, or changes meanwhile.
    Unreadable,
    /// The bytes are not a WebAssembly component.
    NotAComponent,
    /// The component does not fit this version of `agent:tool`, or its definitions are invalid.
    ContractMismatch,
    /// The component imports an interface that the host does not have.
    MissingCapability,
    /// The component has too many bytes.
    TooLarge,
    /// Compiling takes too long or too much memory, or the component's structure suggests so.
    CompileLimit,
    /// The component needs a WebAssembly feature that is off.
    UnsupportedFeature,
    /// The host failed; nothing is known about the component.
    HostFailed,
}

impl LoadError {
    /// The kind of the error.
    #[must_use]
    pub fn fault(&self) -> LoadFault {
        match self {
            Self::Unreadable(_) | Self::Changed => LoadFault::Unreadable,
            Self::TooLarge(_) => LoadFault::TooLarge,
            Self::CoreModule | Self::NotAComponent(_) => LoadFault::NotAComponent,
            Self::TooComplex { .. } | Self::CompileLimit(_) | Self::MachineCode(_) => {
                LoadFault::CompileLimit
            }
            Self::UnsupportedFeature(_) => LoadFault::UnsupportedFeature,
            Self::MissingCapability(_)
            | Self::NewerWasi(_)
            | Self::ActIsOff
            | Self::UncomposedFilter => LoadFault::MissingCapability,
            Self::ContractMismatch(_)
            | Self::Plugin(_)
            | Self::Definitions(_)
            | Self::Functions(_)
            | Self::NotAProgram => LoadFault::ContractMismatch,
            Self::CompilerBroken { .. } | Self::NoProcess(_) | Self::HostFailed => {
                LoadFault::HostFailed
            }
        }
    }
}

impl LoadFault {
    /// All kinds, for tables and tests.
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
