//! A component that queries SQLite databases: read-only, one file for each call, within bounds.
//!
//! The file is hostile, and so is the statement: a database opens no other file, writes nothing,
//! loads nothing, and its own schema is trusted with no function.

mod blob;
mod database;
mod query;
mod schema;
mod value;

agent_tool::export!(
    schema::sqlite_schema,
    query::sqlite_query,
    blob::sqlite_blob
);
