//! What a call used, and what it asked of the gate. Both are journaled with the call's result.

use crate::limits::Limits;
use serde::{Deserialize, Serialize};

/// What one call used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Accounting {
    /// From admission to the end, in microseconds.
    pub wall_us: u64,
    /// The largest sum of the guest's linear memories, in bytes.
    pub peak_memory_bytes: u64,
    /// What came in from files and the network, in bytes.
    pub bytes_in: u64,
    /// What went out to files and the network, in bytes.
    pub bytes_out: u64,
    /// The hosts that the call connected to, sorted, without repetition.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// The end of what the guest wrote to stdout and stderr, for people; the model never sees it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stdio: String,
    /// The limits that were in force; absent for tools that do not run in the sandbox.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
}

/// What the gate said to one request of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It went ahead.
    Allowed,
    /// It was refused.
    Denied,
}

/// One request of a call to the gate. Equal requests are counted, not repeated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// What was asked, such as `read /workspace/notes.txt` or `GET https://example.com/`.
    pub request: String,
    /// What the gate said.
    pub verdict: Verdict,
    /// The rule that decided, such as `grants.dir[0]` or `default-deny`.
    pub rule: String,
    /// How often this was asked in the call.
    pub count: u64,
    /// The smallest grant that would have allowed a denied request, as lines of `agent.toml`; absent where it was allowed, or
    /// where no grant would have helped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<String>,
}
