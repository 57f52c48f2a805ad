//! The ledger of one gate: distinct requests with counts, the first refusal, and hosts. Everything is bounded, because every
//! text in it is chosen by the guest.

use crate::text::sanitize;
use agent_host_core::accounting::{AuditEntry, AuditVerdict};
use std::collections::{BTreeSet, HashMap};

/// How many distinct requests are kept; later ones are only counted, under [`OTHERS`].
pub(super) const MAX_ENTRIES: usize = 256;
/// How many hosts are kept.
pub(super) const MAX_HOSTS: usize = 64;
/// The longest text of one request, in bytes.
pub(super) const MAX_REQUEST_BYTES: usize = 512;
/// The longest first refusal, in bytes: a request, a reason and a rule.
pub(super) const MAX_DENIAL_BYTES: usize = 1_024;
/// The longest suggested grant, in bytes.
pub(super) const MAX_GRANT_BYTES: usize = 1_024;
/// How the rules begin that are fields of [`agent_host_core::limits::Limits`].
const LIMITS: &str = "limits.";
/// Stands for all requests beyond the bound.
pub(super) const OTHERS: &str = "others";

/// A refusal, for the result of the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Denial {
    /// What was refused and why: a sentence without its full stop, in guest paths.
    pub(crate) sentence: String,
    /// It was a limit of the call that refused, and not what is granted.
    pub(crate) is_limit: bool,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    entries: Vec<AuditEntry>,
    /// Where a request with its verdict and rule is in `entries`.
    places: HashMap<(String, String), usize>,
    others_allowed: u64,
    others_denied: u64,
    first_denial: Option<Denial>,
    hosts: BTreeSet<String>,
}

impl Ledger {
    /// Writes down a request that goes ahead.
    pub(super) fn allowed(&mut self, request: &str, rule: &str) {
        let request = one_line(request, MAX_REQUEST_BYTES);
        self.count(request, AuditVerdict::Allowed, rule, None);
    }

    /// Writes down a refusal, why, and the smallest grant with which there would be none.
    pub(super) fn denied(&mut self, request: &str, rule: &str, reason: &str, grant: Option<&str>) {
        let request = one_line(request, MAX_REQUEST_BYTES);
        if self.first_denial.is_none() {
            let text = format!("{request} was refused: {reason} (rule {rule})");
            self.first_denial = Some(Denial {
                sentence: one_line(&text, MAX_DENIAL_BYTES),
                is_limit: rule.starts_with(LIMITS),
            });
        }
        self.count(request, AuditVerdict::Denied, rule, grant);
    }

    fn count(&mut self, request: String, verdict: AuditVerdict, rule: &str, grant: Option<&str>) {
        let key = (request, rule.to_owned());
        if let Some(entry) = self
            .places
            .get(&key)
            .and_then(|place| self.entries.get_mut(*place))
        {
            entry.count += 1;
        } else if self.entries.len() < MAX_ENTRIES {
            self.entries.push(AuditEntry {
                request: key.0.clone(),
                verdict,
                rule: key.1.clone(),
                count: 1,
                // The policy writes it with a guest's words in it, quoted as TOML; a longer one would not be copied by hand.
                grant: grant
                    .filter(|grant| grant.len() <= MAX_GRANT_BYTES)
                    .map(str::to_owned),
            });
            self.places.insert(key, self.entries.len() - 1);
        } else {
            match verdict {
                AuditVerdict::Allowed => self.others_allowed += 1,
                AuditVerdict::Denied => self.others_denied += 1,
            }
        }
    }

    /// Notes a host.
    pub(super) fn contacted(&mut self, host: &str) {
        if self.hosts.len() < MAX_HOSTS {
            self.hosts.insert(one_line(host, MAX_REQUEST_BYTES));
        }
    }

    /// The entries, with those beyond the bound summed up at the end.
    pub(super) fn audit(&self) -> Vec<AuditEntry> {
        let others = [
            (AuditVerdict::Allowed, self.others_allowed),
            (AuditVerdict::Denied, self.others_denied),
        ];
        let others = others
            .into_iter()
            .filter(|(_, count)| *count > 0)
            .map(|(verdict, count)| AuditEntry {
                request: OTHERS.to_owned(),
                verdict,
                rule: OTHERS.to_owned(),
                count,
                grant: None,
            });
        self.entries.iter().cloned().chain(others).collect()
    }

    /// The first refusal.
    pub(super) fn first_denial(&self) -> Option<&Denial> {
        self.first_denial.as_ref()
    }

    /// The hosts, sorted.
    pub(super) fn hosts(&self) -> Vec<String> {
        self.hosts.iter().cloned().collect()
    }
}

/// Text for one line of a listing: a line break in a file name must not look like the next entry.
fn one_line(text: &str, max_bytes: usize) -> String {
    sanitize(&text.replace(['\n', '\t'], "\u{FFFD}"), max_bytes)
}
