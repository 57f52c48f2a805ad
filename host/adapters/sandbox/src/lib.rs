//! Runs tool components on wasmtime: each call in an instance of its own, with every limit on,
//! behind the gate.
//!
//! Nothing outside this crate uses wasmtime, and nothing in this crate knows of models, sessions or
//! configuration files.
//!
//! Modules are layers. Each uses only those above it in this list:
//!
//! | module | owns |
//! |---|---|
//! | `config`, `error`, `engine`, `bindings`, `mutex` | settings, wasmtime engines, generated WIT types, locking |
//! | `schedule` | admission, the guest threads, the epoch clock |
//! | `gate`, `secrets` | policy decisions, audit and quotas of one call; redaction |
//! | `caps` | host functions: files, HTTP, WASI, progress, state, questions |
//! | `instance` | the store of one call with every limit, the linker, results and failures |
//! | `component` | bytes to a loaded component: structure, compiler, cache, definitions |
//! | `call` | one call from its arguments to its report |
//! | `sandbox` | the entry point |

#![cfg_attr(
    test,
    expect(clippy::too_many_lines, reason = "a test is often one table of cases")
)]

mod bindings;
mod call;
mod caps;
mod component;
mod config;
mod engine;
mod error;
mod foreseen;
mod gate;
mod instance;
#[cfg(test)]
#[path = "../../../../tests/support/src/mutations.rs"]
mod mutations;
mod mutex;
mod sandbox;
mod schedule;
mod secrets;

use agent_host_engine::text;
#[cfg(test)]
use agent_host_test_guests as guests;

pub use agent_host_engine::secrets::{MAX_SECRET_BYTES, MIN_SECRET_BYTES, Secrets};
pub use call::{
    Call,
    hook::{HookReply, HookRequest, HookUse},
    program::{
        ProgramControl, ProgramIo, ProgramUse, RunningProgram,
        requests::{ProgramRequests, RequestFailure, ResponseBody},
    },
};
pub use caps::{
    http::Recording,
    pipe::{ProgramInput, ProgramOutput},
};
pub use component::{
    bytes::ComponentBytes,
    cache::{CacheContent, CachedComponent, CompileCache, Pruned},
    code::MAX_COMPONENT_BYTES,
    compiler::{Confinement, compile_worker},
    error::{LoadError, LoadFault},
    section::custom_section,
    skill::SKILL_SECTION,
    structure::STRUCTURE_CAPS,
    tool::{Compiled, ToolComponent},
};
pub use config::{CompileLimits, CompileWorker, Pooling, SandboxConfig, WasiVersion};
pub use engine::Allocator;
pub use error::SandboxError;
pub use foreseen::NamedRequest;
pub use instance::store::{CallContext, ProgramContext};
pub use sandbox::Sandbox;
pub use schedule::threads::start_runtime;
