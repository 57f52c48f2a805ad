//! The generated bindings of the contract, and nothing else. The world imports all that a tool may
//! use; an import that is not called is not in the component. `tests/bindings.rs` writes them.

#[expect(
    missing_docs,
    unsafe_code,
    unreachable_pub,
    unused_qualifications,
    reason = "this is wit-bindgen's code; the contract in wit/ has the docs"
)]
#[rustfmt::skip]
pub mod generated;
#[expect(
    missing_docs,
    unsafe_code,
    unreachable_pub,
    unused_qualifications,
    reason = "this is wit-bindgen's code; the contract in wit/ has the docs"
)]
#[rustfmt::skip]
pub mod generated_hook;

pub(crate) use generated::agent::tool::{
    artifacts, context, control, human, progress, state, types,
};
pub(crate) use generated::exports::agent::tool::tool::{
    ToolCall, ToolDefinition, ToolResultOutput,
};
