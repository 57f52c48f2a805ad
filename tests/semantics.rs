//! The cases of the specification, each a test with the case's number in its name, over the real rooms: components in the
//! sandbox, the journal on SQLite, configuration from `agent.toml`. Only the model is played, and where a wire is the subject, it is
//! real, too. Restarting is opening everything again.
//!
//! The modules of cases are called `.._semantics`, so that the filter `semantics::t06` finds T6 in whichever of them it is.

mod components;
mod endings;
mod script;
mod tools;
mod watcher;
mod world;

mod approval_semantics;
mod envelope_semantics;
mod mode_semantics;
mod outcome_semantics;
mod step_semantics;
mod union_semantics;
mod wire_semantics;
