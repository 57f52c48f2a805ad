//! The integration tests: one binary, modules by theme. `cargo test --release --test it THEME` runs one of them.
//!
//! They drive the `agent-host` program itself, with a home folder, state folder and working folder of their own, and read
//! its stdout, stderr, exit code and journal.

mod bad_input;
mod builtins;
mod deploy;
mod dist;
mod inspect;
mod lock;
mod main_job;
mod model;
mod people;
mod support;
