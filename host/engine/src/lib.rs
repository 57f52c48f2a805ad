//! The agent loop and everything pure around it: messages, the tool result union, events, the turn pipeline, limits and
//! the policy. Nothing here opens a file, a socket or a WebAssembly module; those rooms implement the traits of this crate.

pub mod artifact;
pub mod context;
pub mod definitions;
pub mod hook;
pub mod journal;
pub mod model;
pub mod observer;
pub mod policy;
pub mod schema;
pub mod secrets;
pub mod session;
pub mod spill;
pub mod text;
pub mod tool;
pub mod turn;

#[cfg(test)]
#[path = "../../../tests/support/mutations.rs"]
mod mutations;

/// A future behind a pointer, for the traits of this crate that are used as trait objects.
pub type BoxFuture<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + Send + 'a>>;
