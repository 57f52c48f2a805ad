//! The process dies, the disk is full, another process wants the same session: nothing is lost, and nothing that changes the
//! world happens twice. A service on loopback counts what really arrived.

mod cancel;
mod changed;
mod child;
mod clients;
mod counter;
mod full;
mod guest;
mod held;
mod killed;
mod matrix;
mod play;
mod points;
mod running;
mod stdout;
mod story;
