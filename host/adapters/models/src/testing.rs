//! Test doubles of model servers, and playback of recorded streams.

pub(crate) mod playback;
pub(crate) mod server;
