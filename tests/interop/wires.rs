//! Tests the program against aimock, a third-party server: one conversation on every provider's
//! API, with the real tools.

mod litellm;
mod mock;
mod rows;
mod story;
mod tap;
