//! Workflows: graphs of agents, tools and handlers. Pure values: nothing here is asynchronous, does
//! I/O or reads a clock, so a run is replayed exactly.
//!
//! - [`definition`]: the form of `[[workflow]]` in `agent.toml`.
//! - [`check`]: all faults of a definition, or a [`workflow::Workflow`]; [`mod@reference`]
//!   and [`condition`]: its expressions.
//! - [`run`]: the state machine that a driver asks for what may start, and tells what ended.
//! - [`graph`]: drawings as text, Mermaid and DOT.
//!
//! Outputs of nodes are [`agent_host_types::workflow::NodeOutput`].

pub mod check;
pub mod condition;
pub mod definition;
#[cfg(test)]
mod doubles;
pub mod graph;
pub mod reference;
pub mod run;
mod syntax;
mod value;
pub mod workflow;
