//! Tests kills, full disks and a second process on the same session: no event is lost and no effect
//! happens twice. A service on loopback counts the requests that arrive.

mod cancel;
mod changed;
mod child;
mod clients;
mod counter;
mod drain;
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
mod theatre;
mod workflow;
