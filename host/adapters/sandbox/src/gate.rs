//! The gate of one call: every file operation and every request of the guest is checked here before
//! it happens. The gate asks the policy, keeps the audit log, holds the quotas and counts bytes. It
//! never touches a file or the network itself, never waits, and its memory is bounded whatever the
//! guest does.

mod audit_log;
mod meter;
mod quota;
#[cfg(test)]
mod tests;

use crate::mutex::lock;
use agent_host_engine::{
    flow::{CallFlow, SHARED_STATE, UNKNOWN},
    policy::{
        DEFAULT_DENY, DirMode, FileOp, Grants, HttpRequest, Ruling, RunLater, SecretPlace,
        decide_address, decide_artifact, decide_file, decide_http, decide_run_later, decide_secret,
        only_reads,
    },
    secrets::Secrets,
};
use agent_host_types::{
    accounting::AuditEntry,
    audit::{ArtifactOp, AuditRequest, FileAction},
    limits::Limits,
    tool::Effect,
};
pub(crate) use audit_log::Denial;
pub(crate) use meter::Meter;
pub(crate) use quota::Growth;

use audit_log::AuditLog;
use quota::Quotas;
use rustix::io::Errno;
use std::{
    io, mem,
    net::IpAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

/// The gate refused. The reason is in the audit log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("refused by the policy")]
pub(crate) struct Refused;

/// The requests of a call to its gate, and the bytes that it moved.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CallStats {
    /// Every distinct request with its verdict, in the order of first asking.
    pub(crate) audit: Vec<AuditEntry>,
    pub(crate) first_denial: Option<Denial>,
    /// Bytes read from files and received from servers.
    pub(crate) bytes_in: u64,
    /// Bytes written to files and sent to servers.
    pub(crate) bytes_out: u64,
    /// The hosts to which connections were made, sorted.
    pub(crate) hosts: Vec<String>,
}

impl CallStats {
    pub(crate) fn redact(&mut self, secrets: &Secrets) {
        secrets.audit(&mut self.audit);
        self.hosts.iter_mut().for_each(|host| secrets.string(host));
        if let Some(denial) = &mut self.first_denial {
            secrets.string(&mut denial.sentence);
        }
    }
}

/// The gate of one call.
pub(crate) struct Gate {
    pub(crate) grants: Arc<Grants>,
    /// The effect that the policy uses.
    pub(crate) effect: Effect,
    http_requests: Meter,
    /// The bytes of all request bodies, and of all response bodies.
    pub(crate) http_request_bytes: Meter,
    pub(crate) http_response_bytes: Meter,
    quotas: Quotas,
    /// A request that changes the world was allowed.
    dirty: AtomicBool,
    bytes_in: AtomicU64,
    bytes_out: AtomicU64,
    log: Mutex<AuditLog>,
    /// Where what the call gets may go, and what it reaches; absent where that is not recorded.
    flow: Option<Mutex<CallFlow>>,
    /// Whether the call read the state of the session.
    has_read_state: AtomicBool,
}

impl Gate {
    pub(crate) fn new(grants: Arc<Grants>, effect: Effect, limits: &Limits) -> Arc<Self> {
        Self::within(CallFlow::default(), grants, effect, limits)
    }

    /// Creates the gate of a call that takes part in the flow of text.
    pub(crate) fn within(
        flow: CallFlow,
        grants: Arc<Grants>,
        effect: Effect,
        limits: &Limits,
    ) -> Arc<Self> {
        Arc::new(Self {
            flow: flow.is_watched().then(|| Mutex::new(flow)),
            has_read_state: AtomicBool::new(false),
            quotas: Quotas::new(&grants, limits),
            grants,
            effect,
            http_requests: Meter::new(limits.http_requests),
            http_request_bytes: Meter::new(limits.http_request_bytes),
            http_response_bytes: Meter::new(limits.http_response_bytes),
            dirty: AtomicBool::new(false),
            bytes_in: AtomicU64::new(0),
            bytes_out: AtomicU64::new(0),
            log: Mutex::default(),
        })
    }

    /// Returns those of all secrets that are granted.
    pub(crate) fn granted_secrets(&self, all: &Arc<Secrets>) -> Arc<Secrets> {
        let granted = &self.grants.secrets;
        all.only(granted.iter().map(|grant| grant.name.as_str()))
    }

    /// Returns whether a request that changes the world was allowed.
    pub(crate) fn is_dirty(&self) -> bool {
        self.dirty.load(Ordering::Relaxed)
    }

    /// Returns whether a grant may ever be changed: for the flags of a descriptor, not for
    /// decisions.
    pub(crate) fn is_writable(&self, grant: usize) -> bool {
        self.effect != Effect::ReadOnly
            && self
                .grants
                .dirs
                .get(grant)
                .is_some_and(|dir| dir.mode == DirMode::ReadWrite)
    }

    /// Returns the guest's form of a path that is relative to a grant.
    pub(crate) fn guest_path(&self, grant: usize, path: &str) -> String {
        let dir = match self.grants.dirs.get(grant) {
            Some(dir) => dir.guest.trim_end_matches('/'),
            None => "",
        };
        if path.is_empty() && !dir.is_empty() {
            dir.to_owned()
        } else {
            format!("{dir}/{path}")
        }
    }

    /// Returns the request of an operation on a path that is relative to a grant.
    pub(crate) fn file_request(
        &self,
        grant: usize,
        action: FileAction,
        path: &str,
    ) -> AuditRequest {
        AuditRequest::file(action, self.guest_path(grant, path))
    }

    /// Checks an operation on a resolved path (see [`decide_file`]).
    pub(crate) fn check_file(&self, grant: usize, op: FileOp, path: &str) -> Result<(), Refused> {
        let ruling = decide_file(&self.grants, self.effect, grant, op, path);
        self.enforce(self.file_request(grant, op.action(), path), ruling)?;
        if op.changes() {
            self.dirty.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Checks an allowed change that makes what is at a path run later by its structure or content
    /// (see [`decide_run_later`]).
    pub(crate) fn check_run_later(
        &self,
        grant: usize,
        path: &str,
        found: RunLater,
    ) -> Result<(), Refused> {
        match decide_run_later(&self.grants, grant, path, found) {
            // The change itself was recorded.
            Ruling::Allow { .. } => Ok(()),
            refusal @ (Ruling::Deny { .. } | Ruling::Ask { .. }) => {
                self.enforce(self.file_request(grant, FileAction::Write, path), refusal)
            }
        }
    }

    /// Takes in that the call reads the state of the session.
    pub(crate) fn note_state_read(&self) {
        self.has_read_state.store(true, Ordering::Relaxed);
        if let Some(flow) = &self.flow {
            lock(flow).read_state();
        }
    }

    /// Returns the sources of what was read that the log does not name: the state, files with a path
    /// that it has in part, and those with an audience.
    pub(crate) fn read_sources(&self) -> Vec<String> {
        let has_read_state = self.has_read_state.load(Ordering::Relaxed);
        let state = has_read_state.then(|| SHARED_STATE.to_owned());
        let cut = lock(&self.log).has_cut.then(|| UNKNOWN.to_owned());
        let flow = self.flow.iter().flat_map(|flow| lock(flow).read());
        state.into_iter().chain(cut).chain(flow).collect()
    }

    /// Checks that what is at a path may get another place or name, and so another audience.
    pub(crate) fn check_moved(&self, grant: usize, path: &str) -> Result<(), Refused> {
        let Some(flow) = &self.flow else {
            return Ok(());
        };
        match lock(flow).admit_move(&self.guest_path(grant, path)) {
            None => Ok(()),
            Some(denial) => self.enforce(self.file_request(grant, FileAction::Move, path), denial),
        }
    }

    /// Returns whether the operator lets a path become what programs run later.
    pub(crate) fn may_run_later(&self, grant: usize, path: &str) -> bool {
        let ruling = decide_run_later(&self.grants, grant, path, RunLater::GIT_CONFIG);
        matches!(ruling, Ruling::Allow { .. })
    }

    /// Checks an operation on the artifacts of the session (see [`decide_artifact`]). A change is
    /// applied after the call has succeeded, so that it does not make the call dirty.
    pub(crate) fn check_artifact(&self, op: ArtifactOp, name: &str) -> Result<(), Refused> {
        let (action, name) = (op, name.to_owned());
        let ruling = decide_artifact(&self.grants, self.effect, op);
        self.enforce(AuditRequest::Artifact { action, name }, ruling)
    }

    /// Runs an operation that adds to a directory, if its growth is within the quotas of the call
    /// and of the directory; one that fails is not counted. Every way to write and to create passes
    /// here.
    /// `path` is relative to the grant.
    ///
    /// # Errors
    /// `EDQUOT` beyond a quota, recorded with the quota's name; otherwise the error of `act`.
    pub(crate) fn grow<T>(
        &self,
        grant: usize,
        path: &str,
        growth: Growth,
        act: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        if let Err(exceeded) = self.quotas.take(grant, growth) {
            let request = self.file_request(grant, FileAction::Write, path);
            self.refuse(request, &exceeded.rule, &exceeded.reason);
            return Err(Errno::DQUOT.into());
        }
        act().inspect_err(|_| self.quotas.give_back(grant, growth))
    }

    /// Refuses a path that leaves its granted directory.
    pub(crate) fn refuse_escape(&self, request: AuditRequest) -> Refused {
        self.refuse(request, DEFAULT_DENY, "it leaves the granted directory")
    }

    /// Refuses by a fixed rule of this host, not of the operator's policy.
    pub(crate) fn refuse(&self, request: AuditRequest, rule: &str, reason: &str) -> Refused {
        lock(&self.log).deny(request, rule, reason, None);
        Refused
    }

    /// Checks a request that is to be sent. `url` is its URL for the audit log.
    pub(crate) fn check_http(&self, request: &HttpRequest<'_>, url: &str) -> Result<(), Refused> {
        let asked = AuditRequest::http(request.method, url);
        if !self.http_requests.take(1) {
            let limit = self.http_requests.limit;
            let reason = format!("a call may send at most {limit} requests");
            return Err(self.refuse(asked, "limits.http-requests", &reason));
        }
        self.enforce(asked, decide_http(&self.grants, self.effect, request))?;
        if !only_reads(request.method) {
            self.dirty.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Checks a secret that is to be put into an allowed request. `url` is its URL for the audit
    /// log.
    pub(crate) fn check_secret(
        &self,
        name: &str,
        place: SecretPlace,
        request: &HttpRequest<'_>,
        url: &str,
    ) -> Result<(), Refused> {
        let asked = AuditRequest::Secret {
            name: name.to_owned(),
            method: request.method.to_owned(),
            url: url.to_owned(),
        };
        self.enforce(asked, decide_secret(&self.grants, name, place, request))
    }

    /// Returns those addresses that a request may connect to; each comes with whether it is one of
    /// this machine. Only an empty rest is a refusal: a name may have good and bad addresses, of
    /// which the good ones are used.
    pub(crate) fn allowed_addresses(
        &self,
        request: &HttpRequest<'_>,
        url: &str,
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
                self.enforce(AuditRequest::http(request.method, url), ruling)?;
            }
            Some(_) | None => {}
        }
        Ok(allowed)
    }

    pub(crate) fn count_in(&self, bytes: u64) {
        self.bytes_in.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn count_out(&self, bytes: u64) {
        self.bytes_out.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Records a host to which a connection is made.
    pub(crate) fn record_host(&self, host: &str) {
        lock(&self.log).add_host(host);
    }

    /// Records the status of the response to an allowed HTTP request.
    pub(crate) fn record_status(&self, request: AuditRequest, status: u16) {
        lock(&self.log).record_status(request, status);
    }

    /// Returns the statistics so far.
    pub(crate) fn stats(&self) -> CallStats {
        let (bytes_in, bytes_out) = (
            self.bytes_in.load(Ordering::Relaxed),
            self.bytes_out.load(Ordering::Relaxed),
        );
        lock(&self.log).stats(bytes_in, bytes_out)
    }

    /// Returns the statistics since they were last taken.
    pub(crate) fn take_stats(&self) -> CallStats {
        let log = mem::take(&mut *lock(&self.log));
        let (bytes_in, bytes_out) = (&self.bytes_in, &self.bytes_out);
        log.stats(
            bytes_in.swap(0, Ordering::Relaxed),
            bytes_out.swap(0, Ordering::Relaxed),
        )
    }

    /// Makes the whole quotas available again, for a program at the start of a call.
    pub(crate) fn renew(&self) {
        self.quotas.renew();
        self.http_requests.renew();
        self.http_request_bytes.renew();
        self.http_response_bytes.renew();
    }

    fn enforce(&self, request: AuditRequest, ruling: Ruling) -> Result<(), Refused> {
        let denial = match (&ruling, &self.flow) {
            (Ruling::Allow { .. }, Some(flow)) => lock(flow).admit(&request),
            _ => None,
        };
        match denial.unwrap_or(ruling) {
            Ruling::Allow { rule } => {
                lock(&self.log).allow(request, &rule);
                Ok(())
            }
            Ruling::Deny {
                rule,
                reason,
                grant,
            } => {
                lock(&self.log).deny(request, &rule, &reason, grant.as_deref());
                Err(Refused)
            }
            Ruling::Ask { rule } => Err(self.refuse(
                request,
                &rule,
                "it needs the user's approval, which a call cannot wait for",
            )),
        }
    }
}
