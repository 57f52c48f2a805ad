//! Loads a component: reads its bytes, checks their structure, compiles them or finds them in the
//! cache, links the imports, and queries the tool definitions.

pub(crate) mod act;
pub(crate) mod bytes;
pub(crate) mod cache;
pub(crate) mod code;
mod collect;
pub(crate) mod compiler;
pub(crate) mod definitions;
pub(crate) mod error;
pub(crate) mod extism;
pub(crate) mod link;
pub(crate) mod load;
pub(crate) mod plain;
pub(crate) mod program;
pub(crate) mod section;
pub(crate) mod shared;
pub(crate) mod skill;
pub(crate) mod structure;
pub(crate) mod tool;
