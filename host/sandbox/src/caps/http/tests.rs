//! Requests through the hooks to servers on this machine.

mod bounds;
mod call;
mod denied;
mod exchange;
mod fuzz;
pub(crate) mod server;
mod wire;
