//! The gate of one call: every file operation and every request of the guest asks here before it happens. The gate asks the
//! policy, keeps the ledger of what was asked, holds the quotas and counts bytes. It never touches a file or the network itself,
//! never waits, and its memory is bounded whatever the guest does.

mod ledger;
mod quota;
#[cfg(test)]
mod tests;

use agent_host_engine::{
    policy::{
        DEFAULT_DENY, DirMode, FileOp, Grants, HttpRequest, PathRules, Ruling, SecretPlace,
        decide_address, decide_file, decide_http, decide_secret,
    },
    secrets::Secrets,
};
use agent_host_types::{accounting::AuditEntry, limits::Limits, tool::Effect};
pub(crate) use ledger::Denial;
pub(crate) use quota::Growth;

use ledger::Ledger;
use quota::Quotas;
use rustix::io::Errno;
use std::{
    io,
    net::IpAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

/// The gate said no. Why is in the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("refused by the policy")]
pub(crate) struct Refused;

/// What a call asked of the gate and moved through it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Tally {
    /// Every distinct request with its verdict, in the order of first asking.
    pub(crate) audit: Vec<AuditEntry>,
    /// The first refusal.
    pub(crate) first_denial: Option<Denial>,
    /// Bytes read from files and received from servers.
    pub(crate) bytes_in: u64,
    /// Bytes written to files and sent to servers.
    pub(crate) bytes_out: u64,
    /// The hosts that the call reached for, sorted.
    pub(crate) hosts: Vec<String>,
}

impl Tally {
    /// Redacts what was asked of the gate.
    pub(crate) fn redact(&mut self, secrets: &Secrets) {
        secrets.audit(&mut self.audit);
        self.hosts.iter_mut().for_each(|host| secrets.string(host));
        if let Some(denial) = &mut self.first_denial {
            secrets.string(&mut denial.sentence);
        }
    }
}

/// One call's gate.
pub(crate) struct Gate {
    grants: Arc<Grants>,
    effect: Effect,
    /// How many HTTP requests the call may send.
    http_requests: u64,
    /// How many it has asked to send.
    http_asked: AtomicU64,
    /// What it may still put into files.
    quotas: Quotas,
    /// Whether something of the world was changed, or may have been.
    dirty: AtomicBool,
    bytes_in: AtomicU64,
    bytes_out: AtomicU64,
    ledger: Mutex<Ledger>,
}

impl Gate {
    /// A gate over these grants, for a tool of this effect.
    pub(crate) fn new(grants: Arc<Grants>, effect: Effect, limits: &Limits) -> Arc<Self> {
        Arc::new(Self {
            quotas: Quotas::new(&grants, limits),
            grants,
            effect,
            http_requests: limits.http_requests,
            http_asked: AtomicU64::new(0),
            dirty: AtomicBool::new(false),
            bytes_in: AtomicU64::new(0),
            bytes_out: AtomicU64::new(0),
            ledger: Mutex::default(),
        })
    }

    /// Returns the secrets that are granted, of all.
    pub(crate) fn granted_secrets(&self, all: &Arc<Secrets>) -> Arc<Secrets> {
        let granted = &self.grants.secrets;
        all.only(granted.iter().map(|grant| grant.name.as_str()))
    }

    /// The effect that the policy goes by.
    pub(crate) fn effect(&self) -> Effect {
        self.effect
    }

    /// Whether the call was allowed anything that changes the world.
    pub(crate) fn is_dirty(&self) -> bool {
        self.dirty.load(Ordering::Relaxed)
    }

    /// What is granted.
    pub(crate) fn grants(&self) -> &Grants {
        &self.grants
    }

    /// What a guest does not see in this grant.
    pub(crate) fn mask(&self, grant: usize) -> Option<&PathRules> {
        Some(&self.grants.dirs.get(grant)?.mask)
    }

    /// Whether anything may ever be changed in this grant; for what a descriptor says of itself, not for decisions.
    pub(crate) fn is_writable(&self, grant: usize) -> bool {
        self.effect != Effect::ReadOnly
            && self
                .grants
                .dirs
                .get(grant)
                .is_some_and(|dir| dir.mode == DirMode::ReadWrite)
    }

    /// A path relative to a grant, as the guest names it.
    pub(crate) fn guest_path(&self, grant: usize, path: &str) -> String {
        let folder = match self.grants.dirs.get(grant) {
            Some(dir) => dir.guest.trim_end_matches('/'),
            None => "",
        };
        if path.is_empty() && !folder.is_empty() {
            folder.to_owned()
        } else {
            format!("{folder}/{path}")
        }
    }

    /// Asks for an operation on a resolved path (see [`decide_file`]).
    pub(crate) fn file(&self, grant: usize, op: FileOp, path: &str) -> Result<(), Refused> {
        let request = format!("{} {}", op.as_str(), self.guest_path(grant, path));
        self.settle(
            &request,
            decide_file(&self.grants, self.effect, grant, op, path),
        )?;
        if op.changes() {
            self.dirty.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Does something that adds to a folder, if there is room for it in the call's quota and in the folder's; what fails is
    /// not counted. Every way to write and to create passes here. `path` is relative to the grant.
    ///
    /// # Errors
    /// `EDQUOT` where a quota has no room, written down with the quota's name; otherwise what `act` fails with.
    pub(crate) fn adding<T>(
        &self,
        grant: usize,
        path: &str,
        growth: Growth,
        act: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        if let Err(over) = self.quotas.take(grant, growth) {
            let request = format!(
                "{} {}",
                FileOp::Write.as_str(),
                self.guest_path(grant, path)
            );
            self.refuse(&request, &over.rule, &over.reason);
            return Err(Errno::DQUOT.into());
        }
        act().inspect_err(|_| self.quotas.give_back(grant, growth))
    }

    /// Refuses a path that leaves the granted folders. `request` is what was asked, such as `read /workspace/../x`.
    pub(crate) fn outside(&self, request: &str) -> Refused {
        self.refuse(request, DEFAULT_DENY, "it leaves the granted folder")
    }

    /// Refuses for a reason that is a fixed rule of this host and not of the operator's policy.
    pub(crate) fn refuse(&self, request: &str, rule: &str, reason: &str) -> Refused {
        self.ledger().denied(request, rule, reason, None);
        Refused
    }

    /// Asks to send a request. `shown` is the URL for the ledger.
    pub(crate) fn http(&self, request: &HttpRequest<'_>, shown: &str) -> Result<(), Refused> {
        let text = format!("{} {shown}", request.method);
        if self.http_asked.fetch_add(1, Ordering::Relaxed) >= self.http_requests {
            let reason = format!("a call may send at most {} requests", self.http_requests);
            return Err(self.refuse(&text, "limits.http-requests", &reason));
        }
        self.settle(&text, decide_http(&self.grants, self.effect, request))?;
        if !matches!(request.method, "GET" | "HEAD") {
            self.dirty.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Asks to put a secret into a request, which the gate has let through. `shown` is the URL for the ledger.
    pub(crate) fn secret(
        &self,
        name: &str,
        place: SecretPlace,
        request: &HttpRequest<'_>,
        shown: &str,
    ) -> Result<(), Refused> {
        let text = format!("secret://{name} in {} {shown}", request.method);
        self.settle(&text, decide_secret(&self.grants, name, place, request))
    }

    /// Keeps those addresses that the request may connect to; with each comes whether it is one of this machine. Where none is left, that is a refusal; a name that leads to
    /// good and bad addresses is no offence as long as only the good ones are used.
    pub(crate) fn addresses(
        &self,
        request: &HttpRequest<'_>,
        shown: &str,
        addresses: impl IntoIterator<Item = (IpAddr, bool)>,
    ) -> Result<Vec<IpAddr>, Refused> {
        let mut allowed = Vec::new();
        let mut refusal = None;
        for (address, is_own) in addresses {
            match decide_address(&self.grants, request, address, is_own) {
                Ruling::Allow { .. } => allowed.push(address),
                other @ (Ruling::Deny { .. } | Ruling::Ask { .. }) => {
                    refusal.get_or_insert(other);
                }
            }
        }
        match refusal {
            Some(ruling) if allowed.is_empty() => {
                self.settle(&format!("{} {shown}", request.method), ruling)?;
            }
            Some(_) | None => {}
        }
        Ok(allowed)
    }

    /// Counts bytes that came in.
    pub(crate) fn count_in(&self, bytes: u64) {
        self.bytes_in.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts bytes that went out.
    pub(crate) fn count_out(&self, bytes: u64) {
        self.bytes_out.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Notes a host to which a connection is made.
    pub(crate) fn contacted(&self, host: &str) {
        self.ledger().contacted(host);
    }

    /// What happened so far.
    pub(crate) fn tally(&self) -> Tally {
        let ledger = self.ledger();
        Tally {
            audit: ledger.audit(),
            first_denial: ledger.first_denial().cloned(),
            bytes_in: self.bytes_in.load(Ordering::Relaxed),
            bytes_out: self.bytes_out.load(Ordering::Relaxed),
            hosts: ledger.hosts(),
        }
    }

    fn settle(&self, request: &str, ruling: Ruling) -> Result<(), Refused> {
        match ruling {
            Ruling::Allow { rule } => {
                self.ledger().allowed(request, &rule);
                Ok(())
            }
            Ruling::Deny {
                rule,
                reason,
                grant,
            } => {
                self.ledger()
                    .denied(request, &rule, &reason, grant.as_deref());
                Err(Refused)
            }
            Ruling::Ask { rule } => Err(self.refuse(
                request,
                &rule,
                "a person would have to decide, and nobody can be asked while a call runs",
            )),
        }
    }

    /// A panic elsewhere cannot leave the ledger half-written in a way that matters, so a poisoned lock is still good.
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
