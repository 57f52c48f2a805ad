//! Attacks and faults: components and directories that attack the host, kills at every point, full
//! disks, secrets. `cargo test --release --test security SUITE` runs one suite.

#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::too_many_lines,
    clippy::unwrap_used,
    reason = "a test that finds something else than it expects is to end there"
)]

mod code;
mod crash;
mod forged_trust;
mod hostile;
mod looking;
mod mcp_driver;
mod secrets;
mod trust;
mod trust_yes;
mod typed_ahead;
