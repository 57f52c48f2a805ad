//! Attempts over a real folder, through the same host functions that a guest calls.

mod attempts;
mod fixture;
mod fuzz;
mod quotas;
mod races;
mod streams;
