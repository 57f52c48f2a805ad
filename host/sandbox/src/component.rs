//! From bytes to a loaded component: read, counted, compiled or taken from the cache, linked, and asked for its tools.

pub(crate) mod bytes;
pub(crate) mod cache;
pub(crate) mod code;
pub(crate) mod compiler;
pub(crate) mod definitions;
pub(crate) mod link;
pub(crate) mod load;
pub(crate) mod plain;
pub(crate) mod structure;
