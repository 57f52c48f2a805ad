//! Guests that want to hurt the host: one table of them, and what each of them must come to.
//!
//! Every row runs the program itself, in a place of its own, with a scripted model that calls the guest's tool; [`harness`]
//! holds each run against what must hold whatever a guest does.

mod bombs;
mod case;
mod files;
mod harness;
mod lane;
mod load;
mod memory;
mod meter;
mod network;
mod own_files;
mod quotas;
mod run_later;
mod script;
mod secrets;
mod server;
mod services;
mod sink;
mod snapshot;
mod social;
mod table;
mod time;
mod values;
