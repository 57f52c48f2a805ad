//! Workflows as values. Runs nothing.

pub mod check;
pub mod condition;
pub mod definition;
#[cfg(test)]
mod doubles;
pub mod reference;
pub mod run;
mod syntax;
mod value;
pub mod workflow;
