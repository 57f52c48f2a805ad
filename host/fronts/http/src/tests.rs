//! Parsing of hosts, origins and tokens. The checks are tested by raw requests in `host/fronts/mcp`.

mod allowed;
mod token;
