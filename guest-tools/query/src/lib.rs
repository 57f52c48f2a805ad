//! An example: one tool that asks JSON, CSV and TOML for what they hold, in the language of jq. It only reads, and
//! everything that it reads and gives is bounded.

mod filter;
mod query;
mod read;

agent_tool::export!(query::query_data);
