//! The agent loop and everything pure around it: messages, the tool result union, events, the turn pipeline, limits and
//! the policy. Nothing here opens a file, a socket or a WebAssembly module; those rooms implement the traits of this crate.

pub mod accounting;
pub mod artifact;
pub mod context;
pub mod definitions;
pub mod event;
pub mod failure;
pub mod hook;
pub mod id;
pub mod journal;
pub mod json;
pub mod limits;
pub mod lock;
pub mod media;
pub mod message;
pub mod model;
pub mod observer;
pub mod output;
pub mod policy;
pub mod question;
pub mod schema;
pub mod secrets;
pub mod session;
pub mod text;
pub mod tool;
pub mod turn;

#[cfg(test)]
#[path = "../../../tests/support/mutations.rs"]
mod mutations;

/// A future behind a pointer, for the traits of this crate that are used as trait objects.
pub type BoxFuture<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + Send + 'a>>;
