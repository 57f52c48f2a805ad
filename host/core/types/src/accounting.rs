//! The resources that a call used and its requests to the gate, journaled with the result.

use crate::{
    audit::{self, AuditRequest},
    limits::Limits,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The resources that one call used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Accounting {
    /// The wall time from admission to the end, in microseconds.
    pub wall_us: u64,
    /// The peak of the sum of the guest's linear memories, in bytes.
    pub peak_memory_bytes: u64,
    /// The bytes read from files and the network.
    pub bytes_in: u64,
    /// The bytes written to files and the network.
    pub bytes_out: u64,
    /// The hosts that the call connected to, sorted, without duplicates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// The end of the guest's stdout and stderr, for the user; the model never sees it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stdio: String,
    /// The limits in force; absent for tools outside the sandbox. In the journal, absent also if
    /// they are those of the tool's previous call in the session that has them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
}

/// The gate's decision about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AuditVerdict {
    /// The request was performed.
    Allowed,
    /// The request was refused.
    Denied,
}

/// A request of a call to the gate. Equal requests share one entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditEntry {
    /// The request: its text as `request`, and its fields as `operation`.
    #[serde(flatten, with = "audit::form")]
    #[schemars(with = "audit::form::RequestForm<'static>")]
    pub request: AuditRequest,
    /// The gate's decision.
    pub verdict: AuditVerdict,
    /// The deciding rule, such as `grants.dir[0]` or `default-deny`.
    pub rule: String,
    /// The number of equal requests in the call.
    pub count: u64,
    /// The smallest grant that would allow a denied request, as lines of `agent.toml`; absent if it
    /// was allowed or no grant would allow it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<String>,
    /// The status of the newest response to an allowed HTTP request; absent without a response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
}
