//! The bytes and objects that one call may still add to files: over all granted directories
//! together and in each. It only counts; the gate records refusals.

use super::meter::Meter;
use agent_host_engine::policy::Grants;
use agent_host_types::limits::Limits;

/// The amounts that one operation adds to a directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Growth {
    pub(crate) bytes: u64,
    /// Files, directories and links.
    pub(crate) creates: u64,
}

/// The quota that an operation exceeds.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct QuotaExceeded {
    /// The name of the quota, such as `limits.file-write-bytes`.
    pub(super) rule: String,
    /// The reason for the audit log.
    pub(super) reason: String,
}

/// The quotas of one call.
pub(super) struct Quotas {
    call: Quota,
    /// In the order of the grants.
    dirs: Vec<Quota>,
}

struct Quota {
    /// The directory grant; absent for the limits of the call.
    grant: Option<usize>,
    bytes: Meter,
    creates: Meter,
}

impl Quotas {
    pub(super) fn new(grants: &Grants, limits: &Limits) -> Self {
        let quota = |grant, bytes: Option<u64>, creates: Option<u64>| Quota {
            grant,
            bytes: Meter::new(bytes.unwrap_or(u64::MAX)),
            creates: Meter::new(creates.unwrap_or(u64::MAX)),
        };
        let (bytes, creates) = (limits.file_write_bytes, limits.file_creates);
        let dirs = grants.dirs.iter().map(|dir| &dir.quota).enumerate();
        let dirs = dirs.map(|(grant, dir)| quota(Some(grant), dir.write_bytes, dir.creates));
        Self {
            call: quota(None, Some(bytes), Some(creates)),
            dirs: dirs.collect(),
        }
    }

    /// Takes the growth of an operation in a directory grant, all of it or nothing.
    ///
    /// # Errors
    /// The first quota that is exceeded.
    pub(super) fn take(&self, grant: usize, growth: Growth) -> Result<(), QuotaExceeded> {
        self.call.take(growth)?;
        let Some(dir) = self.dirs.get(grant) else {
            return Ok(());
        };
        dir.take(growth)
            .inspect_err(|_| self.call.give_back(growth))
    }

    /// Makes the whole quotas available again.
    pub(super) fn renew(&self) {
        self.call.renew();
        self.dirs.iter().for_each(Quota::renew);
    }

    /// Returns what was taken for an operation that then failed.
    pub(super) fn give_back(&self, grant: usize, growth: Growth) {
        self.call.give_back(growth);
        if let Some(dir) = self.dirs.get(grant) {
            dir.give_back(growth);
        }
    }
}

impl Quota {
    fn renew(&self) {
        self.bytes.renew();
        self.creates.renew();
    }

    fn take(&self, growth: Growth) -> Result<(), QuotaExceeded> {
        if !self.bytes.take(growth.bytes) {
            let reason = format!("a call may write at most {} bytes", self.bytes.limit);
            return Err(self.exceeded("write-bytes", reason));
        }
        if !self.creates.take(growth.creates) {
            self.bytes.give_back(growth.bytes);
            let limit = self.creates.limit;
            let reason = format!("a call may create at most {limit} files, directories and links");
            return Err(self.exceeded("creates", reason));
        }
        Ok(())
    }

    fn give_back(&self, growth: Growth) {
        self.bytes.give_back(growth.bytes);
        self.creates.give_back(growth.creates);
    }

    fn exceeded(&self, name: &str, reason: String) -> QuotaExceeded {
        let rule = match self.grant {
            Some(grant) => format!("grants.dir[{grant}].quota.{name}"),
            None => format!("limits.file-{name}"),
        };
        QuotaExceeded { rule, reason }
    }
}
