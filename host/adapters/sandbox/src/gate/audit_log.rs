//! The audit log of one gate: distinct requests with counts, the first refusal, and hosts.
//! Everything is bounded, because the guest chooses every text in it.

use crate::{gate::CallStats, text::sanitize};
use agent_host_types::{
    accounting::{AuditEntry, AuditVerdict},
    audit::AuditRequest,
};
use std::collections::{BTreeSet, HashMap};

/// The distinct requests that are kept; later ones are only counted, as [`AuditRequest::Others`].
pub(super) const MAX_ENTRIES: usize = 256;
pub(super) const MAX_HOSTS: usize = 64;
/// The most bytes of the paths, names and URLs of a request together, and of a host.
pub(super) const MAX_REQUEST_BYTES: usize = 512;
/// The longest first refusal, in bytes: a request, a reason and a rule.
pub(super) const MAX_DENIAL_BYTES: usize = 1_024;
/// The longest suggested grant, in bytes; a longer one would not be copied by hand.
pub(super) const MAX_GRANT_BYTES: usize = 1_024;
/// The prefix of rules that are fields of [`agent_host_types::limits::Limits`].
const LIMITS: &str = "limits.";
/// The rule of the entries that sum up all requests beyond the bound.
const OTHERS: &str = "others";

/// A refusal, for the result of the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Denial {
    /// The request and the reason: a sentence without its full stop, in guest paths.
    pub(crate) sentence: String,
    /// A limit of the call refused, not the grants.
    pub(crate) is_limit: bool,
}

#[derive(Debug, Default)]
pub(super) struct AuditLog {
    entries: Vec<AuditEntry>,
    /// The index in `entries` of a request and rule.
    indices: HashMap<(AuditRequest, String), usize>,
    others_allowed: u64,
    others_denied: u64,
    pub(super) first_denial: Option<Denial>,
    hosts: BTreeSet<String>,
    /// Whether an entry has less than the whole path of a file.
    pub(super) has_cut: bool,
}

impl AuditLog {
    /// Records an allowed request.
    pub(super) fn allow(&mut self, request: AuditRequest, rule: &str) {
        if let AuditRequest::File { path, .. } = &request {
            self.has_cut |= path.len() > MAX_REQUEST_BYTES || path.chars().any(char::is_control);
        }
        self.count(bounded(request), AuditVerdict::Allowed, rule, None);
    }

    /// Records a refusal with its reason and the smallest grant that would allow the request.
    pub(super) fn deny(
        &mut self,
        request: AuditRequest,
        rule: &str,
        reason: &str,
        grant: Option<&str>,
    ) {
        let request = bounded(request);
        if self.first_denial.is_none() {
            let text = format!("{request} was refused: {reason} (rule {rule})");
            self.first_denial = Some(Denial {
                sentence: one_line(&text, MAX_DENIAL_BYTES),
                is_limit: rule.starts_with(LIMITS),
            });
        }
        self.count(request, AuditVerdict::Denied, rule, grant);
    }

    fn count(
        &mut self,
        request: AuditRequest,
        verdict: AuditVerdict,
        rule: &str,
        grant: Option<&str>,
    ) {
        let key = (request, rule.to_owned());
        let known = self.indices.get(&key);
        if let Some(entry) = known.and_then(|index| self.entries.get_mut(*index)) {
            entry.count += 1;
        } else if self.entries.len() < MAX_ENTRIES {
            self.entries.push(AuditEntry {
                request: key.0.clone(),
                verdict,
                rule: key.1.clone(),
                count: 1,
                // It holds texts of the guest, which the policy quotes as TOML.
                grant: grant
                    .filter(|grant| grant.len() <= MAX_GRANT_BYTES)
                    .map(str::to_owned),
                status: None,
            });
            self.indices.insert(key, self.entries.len() - 1);
        } else {
            match verdict {
                AuditVerdict::Allowed => self.others_allowed += 1,
                AuditVerdict::Denied => self.others_denied += 1,
            }
        }
    }

    /// Records the status of the response to an allowed request.
    pub(super) fn record_status(&mut self, request: AuditRequest, status: u16) {
        let request = bounded(request);
        let mut entries = self.entries.iter_mut();
        let asked = entries
            .find(|entry| entry.verdict == AuditVerdict::Allowed && entry.request == request);
        if let Some(entry) = asked {
            entry.status = Some(status);
        }
    }

    /// Records a host to which a connection is made.
    pub(super) fn add_host(&mut self, host: &str) {
        if self.hosts.len() < MAX_HOSTS {
            self.hosts.insert(one_line(host, MAX_REQUEST_BYTES));
        }
    }

    /// Returns the statistics of a gate that moved these numbers of bytes.
    pub(super) fn stats(&self, bytes_in: u64, bytes_out: u64) -> CallStats {
        CallStats {
            audit: self.entries(),
            first_denial: self.first_denial.clone(),
            bytes_in,
            bytes_out,
            hosts: self.hosts.iter().cloned().collect(),
        }
    }

    /// Returns the entries, with those beyond the bound summed up at the end.
    fn entries(&self) -> Vec<AuditEntry> {
        let others = [
            (AuditVerdict::Allowed, self.others_allowed),
            (AuditVerdict::Denied, self.others_denied),
        ];
        let others = others
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(|(verdict, count)| AuditEntry {
                request: AuditRequest::Others,
                verdict,
                rule: OTHERS.to_owned(),
                count,
                grant: None,
                status: None,
            });
        self.entries.iter().cloned().chain(others).collect()
    }
}

fn bounded(mut request: AuditRequest) -> AuditRequest {
    let mut left = MAX_REQUEST_BYTES;
    request.change_texts(|text| {
        *text = one_line(text, left);
        left = left.saturating_sub(text.len());
    });
    request
}

/// Replaces line breaks and tabs: a file name with one must not look like the next entry.
fn one_line(text: &str, max_bytes: usize) -> String {
    sanitize(&text.replace(['\n', '\t'], "\u{FFFD}"), max_bytes)
}
