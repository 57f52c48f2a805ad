//! Turns over stand-ins for the world around them, by theme.

mod approval;
mod budgets;
mod calls;
mod client;
mod context;
mod doubles;
mod durability;
mod external;
mod flow;
mod harness;
mod hooks;
mod interrupted;
mod limits;
mod people;
mod questions;
mod until;
