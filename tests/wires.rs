//! The program against aimock, which other people wrote: one story on every provider's wire, with the real tools.

mod mock;
mod rows;
mod story;
mod tap;
