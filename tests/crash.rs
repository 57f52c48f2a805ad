//! The process dies, the disk is full, another process wants the same session: nothing is lost, and nothing that changes the
//! world happens twice. A service on loopback counts what really arrived.

mod child;
mod counter;
mod guest;
mod matrix;
mod play;
mod points;
mod story;
