//! Turns over test doubles, by theme.

mod approval;
mod artifacts;
mod budgets;
mod calls;
mod children;
mod client;
mod context;
mod decisions;
mod doubles;
mod drain;
mod durability;
mod external;
mod flow;
mod halt;
mod harness;
mod hooks;
mod interrupted;
mod limits;
mod questions;
mod restarts;
mod reviews;
mod rules;
mod steps;
mod tool_search;
mod until;
mod workflow;
