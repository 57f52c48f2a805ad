//! Attempts over a real directory, through the same host functions that a guest calls.

mod changes;
mod config_names;
mod fixture;
mod fuzz;
mod git_keys;
mod grants;
mod link_fuzz;
mod links;
mod lookups;
mod quotas;
mod races;
pub(crate) mod remote;
mod repositories;
mod run_later;
mod streams;
mod truncations;
mod undo;
