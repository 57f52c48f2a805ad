//! Reads granted files and ZIP archives within bounds, and bounds results. The components of
//! `components/` share it; it has no tool of its own, and decides nothing about access.

mod budget;
mod date;
mod failure;
mod file;
mod page;
mod text;
pub mod zip;

pub use budget::{Budget, MAX_RESULT_BYTES};
pub use date::iso_date;
pub use failure::Failure;
pub use file::{open, read};
pub use page::page;
pub use text::windows_1252;
