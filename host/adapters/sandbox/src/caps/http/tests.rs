//! Requests through the hooks to servers on this machine.

mod bounds;
mod call;
mod denied;
mod exchange;
mod fuzz;
mod links;
mod memory;
mod names;
mod oracle;
mod recorded;
mod secrets;
pub(crate) mod server;
mod wire;
