//! Attempts over a real directory, through the same host functions that a guest calls.

mod attempts;
mod fixture;
mod fuzz;
mod link_fuzz;
mod links;
mod quotas;
mod races;
mod run_later;
mod streams;
