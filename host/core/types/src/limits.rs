//! The limits of one call: set by configuration, enforced by the sandbox, reported with every
//! settled call.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The limits of one call. The names are those of `[limits]` in `agent.toml`, units included.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Limits {
    /// The wall time of the call including host calls, in milliseconds.
    pub deadline_ms: u64,
    /// The sum of all linear memories, in bytes.
    pub memory_bytes: u64,
    /// The elements of one table.
    pub table_elements: u64,
    /// The core and component instances.
    pub instances: u64,
    /// The linear memories.
    pub memories: u64,
    /// The tables.
    pub tables: u64,
    /// The bytes passed across the component boundary in one direction.
    pub max_transfer_bytes: u64,
    /// The host resources (files, streams, requests) open at once.
    pub open_resources: u64,
    /// The result, all parts together, in bytes.
    pub output_bytes: u64,
    /// The bytes kept of each of stdout and stderr; the rest is dropped.
    pub stdio_bytes: u64,
    /// The bytes of one request for random data.
    pub random_bytes: u64,
    /// The header fields of one HTTP message, in bytes.
    pub http_header_bytes: u64,
    /// The bodies of all HTTP requests together, in bytes.
    pub http_request_bytes: u64,
    /// The bodies of all HTTP responses together, in bytes.
    pub http_response_bytes: u64,
    /// The number of HTTP requests.
    pub http_requests: u64,
    /// The HTTP exchanges open at once.
    pub http_connections: u64,
    /// The time of one HTTP exchange, from the request to the end of the response, in milliseconds.
    pub http_timeout_ms: u64,
    /// The bytes written to files.
    pub file_write_bytes: u64,
    /// The files, directories and links created.
    pub file_creates: u64,
}

impl Default for Limits {
    /// Enough for every language's runtime (Python needs 13 MiB before its first line) and for real
    /// images and documents.
    fn default() -> Self {
        const KIB: u64 = 1024;
        const MIB: u64 = 1024 * KIB;
        Self {
            deadline_ms: 30_000,
            memory_bytes: 256 * MIB,
            table_elements: 20_000,
            instances: 64,
            memories: 16,
            tables: 16,
            max_transfer_bytes: 16 * MIB,
            open_resources: 1_024,
            output_bytes: 8 * MIB,
            stdio_bytes: 64 * KIB,
            random_bytes: MIB,
            http_header_bytes: 32 * KIB,
            http_request_bytes: 8 * MIB,
            http_response_bytes: 8 * MIB,
            http_requests: 64,
            http_connections: 16,
            http_timeout_ms: 30_000,
            file_write_bytes: 256 * MIB,
            file_creates: 10_000,
        }
    }
}
