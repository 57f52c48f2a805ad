//! Tests components that attack the host: one table of guests with the expected end of each.
//!
//! Every row runs the program in a test directory of its own, with a scripted model that calls the
//! guest's tool; [`harness`] checks the invariants of every row.

mod bombs;
mod case;
mod definitions;
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
mod special_files;
mod table;
mod time;
mod values;
