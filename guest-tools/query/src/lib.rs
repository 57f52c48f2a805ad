//! An example: one tool that queries JSON, CSV and TOML in the language of jq. It only reads, and
//! both its input and its output are bounded.

mod filter;
mod query;
mod read;

agent_tool::export!(query::query_data);
