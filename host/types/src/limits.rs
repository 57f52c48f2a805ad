//! The limits of one call: one value, set by configuration, enforced by the sandbox, and shown with every settled call.

use serde::{Deserialize, Serialize};

/// Every limit of one call. Names carry their unit; they are the names in `agent.toml` under `[limits]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Limits {
    /// Wall-clock time of one call, host calls included, in milliseconds.
    pub deadline_ms: u64,
    /// The sum of all linear memories of one call, in bytes.
    pub memory_bytes: u64,
    /// The elements of one table.
    pub table_elements: u64,
    /// The core and component instances in one call.
    pub instances: u64,
    /// The linear memories in one call.
    pub memories: u64,
    /// The tables in one call.
    pub tables: u64,
    /// What may be handed across the component boundary in one direction of one call, in bytes.
    pub max_transfer_bytes: u64,
    /// The host resources (files, streams, requests) that are open at once.
    pub open_resources: u64,
    /// The result, all parts together, in bytes.
    pub output_bytes: u64,
    /// What is kept of stdout and of stderr, in bytes each; the rest is dropped.
    pub stdio_bytes: u64,
    /// What one request for random bytes may ask for, in bytes.
    pub random_bytes: u64,
    /// The header fields of one HTTP message, in bytes.
    pub http_header_bytes: u64,
    /// The bodies of all HTTP requests of one call together, in bytes.
    pub http_request_bytes: u64,
    /// The bodies of all HTTP responses of one call together, in bytes.
    pub http_response_bytes: u64,
    /// The HTTP requests of one call.
    pub http_requests: u64,
    /// The HTTP exchanges of one call that are open at once.
    pub http_connections: u64,
    /// One HTTP exchange from its request to the end of its response, in milliseconds.
    pub http_timeout_ms: u64,
    /// What one call may write to files, in bytes.
    pub file_write_bytes: u64,
    /// The files, folders and links that one call may make.
    pub file_creates: u64,
}

impl Default for Limits {
    /// Room for every language's runtime (Python needs 13 MiB before its first line) and for real images and documents.
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
