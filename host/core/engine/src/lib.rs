//! The agent loop and everything pure around it, over the values of `agent-host-types`. Opens no
//! file, socket or WebAssembly module; other crates implement its traits.
//!
//! - [`turn::Agent`] runs turns of a [`session::Session`]: budgets, the model, approvals, tools.
//! - [`model::Model`], [`tool::ToolHandler`], [`journal::Journal`] and [`observer::Observer`] are
//!   implemented outside; [`turn::Mode`], [`hook::Hook`] and [`middleware::Middleware`] by embedders.
//! - [`policy`] decides on calls, files, HTTP requests and secrets; [`schema`] and
//!   [`definitions`] validate values and definitions from untrusted sources; [`secrets`] redacts.
//! - [`spill`] stores large results as blobs; [`artifact`] names the files that calls returned;
//!   [`context`] keeps a conversation within the model's window; [`tool_set`] has the
//!   tools of an agent as data, and [`tool_search`] finds tools among many; with [`ask_user`] the
//!   model asks the user, with [`todo_list`] it keeps its tasks; [`agents`] are started by another
//!   agent, and a [`workflow`] runs them and tools as a graph.
//! - [`setup`] is what the journal has of an agent; [`replay`] runs the loop over a recorded session.
//! - [`flow`] keeps text from untrusted sources from deciding what is called.
//! - [`call_summary`] tells a call in a line of words for the user.
//! - [`stream`] writes a run as lines of JSON; [`documents`] has the schemas of what programs read.

#![cfg_attr(
    test,
    expect(clippy::too_many_lines, reason = "a test is often one table of cases")
)]

pub mod agents;
pub mod arguments;
pub mod artifact;
pub mod ask_user;
pub mod call_summary;
pub mod context;
pub mod definitions;
pub mod documents;
pub mod flow;
pub mod hook;
pub mod journal;
pub mod middleware;
pub mod model;
pub mod observer;
pub mod policy;
pub mod program;
pub mod replay;
pub mod schema;
pub mod secrets;
pub mod session;
pub mod setup;
pub mod spill;
pub mod stream;
pub mod text;
pub mod todo_list;
pub mod tool;
pub mod tool_search;
pub mod tool_set;
pub mod turn;
pub mod workflow;

#[cfg(test)]
#[path = "../../../../tests/support/src/mutations.rs"]
mod mutations;

/// A future behind a pointer, for the traits of this crate that are used as trait objects.
pub type BoxFuture<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + Send + 'a>>;
