//! The generated bindings of the contract, and nothing else: those of a tool, and those of a hook,
//! which share the types. The worlds import all that a tool or a hook may use; an import that is not
//! called is not in the component. `tests/bindings.rs` writes them.

#![expect(
    clippy::allow_attributes,
    clippy::allow_attributes_without_reason,
    clippy::panic,
    clippy::unwrap_used,
    missing_docs,
    unsafe_code,
    unreachable_pub,
    unused_qualifications,
    reason = "this is wit-bindgen's code; the contract in wit/ has the docs"
)]

#[rustfmt::skip]
pub mod generated;
#[rustfmt::skip]
pub mod generated_hook;

pub(crate) use generated::agent::tool::types;
#[cfg(target_family = "wasm")]
pub(crate) use generated::agent::tool::{
    artifacts, context, control, human, partial, progress, state, tools,
};
pub(crate) use generated::exports::agent::tool::tool::{
    ToolCall, ToolDefinition, ToolResultOutput,
};
