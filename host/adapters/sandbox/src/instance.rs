//! One instance for one call: its store with every limit, its imports, its result, its failure.

pub(crate) mod convert;
mod crash;
pub(crate) mod failure;
pub(crate) mod limiter;
pub(crate) mod linker;
pub(crate) mod store;
