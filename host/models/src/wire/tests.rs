//! What the tests of every wire share.

pub(crate) mod asked;
pub(crate) mod recorded;
