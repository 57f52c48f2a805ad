//! What one call may still put into files: over all folders together, and into each. Counts only; what is refused is written
//! down by the gate.

use agent_host_engine::policy::{DirGrant, DirQuota, Grants};
use agent_host_types::limits::Limits;
use std::sync::atomic::{AtomicU64, Ordering};

/// What one operation adds to a folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Growth {
    /// Bytes.
    pub(crate) bytes: u64,
    /// Files, folders and links.
    pub(crate) creates: u64,
}

/// The quota that an operation does not fit into.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Over {
    /// Its name, such as `limits.file-write-bytes`.
    pub(super) rule: String,
    /// Why that is a refusal, for the ledger.
    pub(super) reason: String,
}

/// The quotas of one call.
pub(super) struct Quotas {
    call: Quota,
    /// One for each granted folder, in the order of the grants.
    dirs: Vec<Quota>,
}

struct Quota {
    bytes: Allowance,
    creates: Allowance,
}

impl Quotas {
    /// The call's limits and those of its folders; nothing is used yet.
    pub(super) fn new(grants: &Grants, limits: &Limits) -> Self {
        let of_folder = |(index, dir): (usize, &DirGrant)| {
            let DirQuota {
                write_bytes,
                creates,
            } = dir.quota;
            let rule = |name: &str| format!("grants.dir[{index}].quota.{name}");
            Quota {
                bytes: Allowance::new(rule("write-bytes"), write_bytes.unwrap_or(u64::MAX)),
                creates: Allowance::new(rule("creates"), creates.unwrap_or(u64::MAX)),
            }
        };
        Self {
            call: Quota {
                bytes: Allowance::new("limits.file-write-bytes", limits.file_write_bytes),
                creates: Allowance::new("limits.file-creates", limits.file_creates),
            },
            dirs: grants.dirs.iter().enumerate().map(of_folder).collect(),
        }
    }

    /// Takes what an operation adds, all of it or nothing.
    ///
    /// # Errors
    /// The first quota that has no room for it.
    pub(super) fn take(&self, grant: usize, growth: Growth) -> Result<(), Over> {
        self.call.take(growth)?;
        match self.dirs.get(grant) {
            Some(dir) => dir
                .take(growth)
                .inspect_err(|_| self.call.give_back(growth)),
            None => Ok(()),
        }
    }

    /// Gives back what was taken for an operation that then failed.
    pub(super) fn give_back(&self, grant: usize, growth: Growth) {
        self.call.give_back(growth);
        if let Some(dir) = self.dirs.get(grant) {
            dir.give_back(growth);
        }
    }
}

impl Quota {
    fn take(&self, growth: Growth) -> Result<(), Over> {
        let over = |allowance: &Allowance, reason: String| Over {
            rule: allowance.rule.clone(),
            reason,
        };
        if !self.bytes.take(growth.bytes) {
            let reason = format!("a call may write at most {} bytes", self.bytes.most);
            return Err(over(&self.bytes, reason));
        }
        if !self.creates.take(growth.creates) {
            self.bytes.give_back(growth.bytes);
            let reason = format!(
                "a call may make at most {} files, folders and links",
                self.creates.most
            );
            return Err(over(&self.creates, reason));
        }
        Ok(())
    }

    fn give_back(&self, growth: Growth) {
        self.bytes.give_back(growth.bytes);
        self.creates.give_back(growth.creates);
    }
}

/// One number that only so much is taken from.
struct Allowance {
    rule: String,
    most: u64,
    used: AtomicU64,
}

impl Allowance {
    fn new(rule: impl Into<String>, most: u64) -> Self {
        Self {
            rule: rule.into(),
            most,
            used: AtomicU64::new(0),
        }
    }

    /// Takes the amount if there is as much, and says whether.
    fn take(&self, amount: u64) -> bool {
        let fits = |used: u64| {
            used.checked_add(amount)
                .filter(|wanted| *wanted <= self.most)
        };
        self.used
            .try_update(Ordering::Relaxed, Ordering::Relaxed, fits)
            .is_ok()
    }

    fn give_back(&self, amount: u64) {
        self.used.fetch_sub(amount, Ordering::Relaxed);
    }
}
