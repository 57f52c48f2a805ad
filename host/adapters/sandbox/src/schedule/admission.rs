//! Bounds how many calls run and how many wait. A call beyond both is refused at once, so that a
//! flood takes no memory.
//!
//! A tool may hold its quota of the permits and of the queue, by default half of each, so its flood
//! leaves the rest to other tools. The last permits are reserved for tools with no running call, so
//! that several floods together leave one, too. A released permit goes to the waiting tools in
//! turn, and within a tool to the call that has waited longest.

#[cfg(test)]
mod tests;

use crate::{
    config::SandboxConfig,
    mutex::lock,
    schedule::fair_semaphore::{FairSemaphore, Permit, QueueFull, Quota, Tenant},
};
use agent_host_types::failure::{ToolErrorCode, ToolFailure};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub(crate) struct Admission {
    semaphore: Arc<FairSemaphore>,
    limits: AdmissionLimits,
}

#[derive(Clone, Copy)]
struct AdmissionLimits {
    calls: usize,
    queued: usize,
    tool: Quota,
}

pub(crate) struct ToolQueue {
    tenant: Arc<Tenant>,
    limits: AdmissionLimits,
}

impl Admission {
    pub(crate) fn new(config: &SandboxConfig) -> Self {
        Self {
            semaphore: FairSemaphore::new(
                config.concurrent_calls,
                config.reserved_calls(),
                config.queued_calls,
            ),
            limits: AdmissionLimits {
                calls: config.concurrent_calls,
                queued: config.queued_calls,
                tool: Quota {
                    permits: config.concurrent_calls_per_tool(),
                    waiters: config.queued_calls_per_tool(),
                },
            },
        }
    }

    /// Creates the queue of one tool; `concurrent_calls` replaces the configured number per tool.
    pub(crate) fn queue(&self, concurrent_calls: Option<usize>) -> ToolQueue {
        let mut limits = self.limits;
        limits.tool.permits = concurrent_calls.unwrap_or(limits.tool.permits);
        ToolQueue {
            tenant: self.semaphore.tenant(limits.tool),
            limits,
        }
    }
}

impl ToolQueue {
    /// Admits a call, after waiting for at most `max_wait`.
    ///
    /// # Errors
    /// `busy`, naming the limit, if the queue is full or the wait is over.
    pub(crate) async fn admit(&self, max_wait: Duration) -> Result<Permit, ToolFailure> {
        if let Some(permit) = self.tenant.try_acquire() {
            return Ok(permit);
        }
        let acquire = self.tenant.acquire().map_err(|full| match full {
            QueueFull::Tenant => busy(&format!(
                "{} calls of this tool are already waiting (limit `queued-calls-per-tool`)",
                self.limits.tool.waiters
            )),
            QueueFull::Total => busy(&format!(
                "{} calls are already waiting (limit `queued-calls`)",
                self.limits.queued
            )),
        })?;
        tokio::time::timeout(max_wait, acquire)
            .await
            .map_err(|_| self.timed_out(max_wait))
    }

    fn timed_out(&self, max_wait: Duration) -> ToolFailure {
        let limit = if self.tenant.is_at_quota() {
            format!(
                "{} calls of this tool are running (limit `concurrent-calls-per-tool`)",
                self.limits.tool.permits
            )
        } else {
            let calls = self.limits.calls;
            let running = match self.tenant.free_permits() {
                0 => format!("{calls} calls are running"),
                free => format!(
                    "the last {free} of {calls} slots are reserved for tools with no running call"
                ),
            };
            format!("{running} (limit `concurrent-calls`)")
        };
        let waited = max_wait.as_millis();
        busy(&format!("{limit} and none ended within {waited} ms"))
    }
}

/// The permit of a call that runs. A program gives it up while the calls that it made run, so that
/// programs alone cannot hold all permits.
pub(crate) struct RunPermit {
    queue: Arc<ToolQueue>,
    held: Mutex<Option<Permit>>,
    #[expect(dead_code, reason = "held until the program has ended")]
    program: Option<OwnedSemaphorePermit>,
}

impl RunPermit {
    pub(crate) fn new(
        queue: &Arc<ToolQueue>,
        permit: Permit,
        program: Option<OwnedSemaphorePermit>,
    ) -> Arc<Self> {
        Arc::new(Self {
            queue: Arc::clone(queue),
            held: Mutex::new(Some(permit)),
            program,
        })
    }

    /// Gives the permit to another call.
    pub(crate) fn release(&self) {
        drop(lock(&self.held).take());
    }

    /// Takes a permit again, after waiting for at most `max_wait`.
    ///
    /// # Errors
    /// Those of [`ToolQueue::admit`].
    pub(crate) async fn acquire(&self, max_wait: Duration) -> Result<(), ToolFailure> {
        let permit = self.queue.admit(max_wait).await?;
        *lock(&self.held) = Some(permit);
        Ok(())
    }
}

/// Admits a program, after waiting for at most `max_wait`.
///
/// # Errors
/// `busy` if none of the others ends in time.
pub(crate) async fn admit_program(
    programs: &Arc<Semaphore>,
    max_wait: Duration,
) -> Result<OwnedSemaphorePermit, ToolFailure> {
    let acquire = Arc::clone(programs).acquire_owned();
    let acquired = tokio::time::timeout(max_wait, acquire).await;
    acquired
        .ok()
        .and_then(Result::ok)
        .ok_or_else(|| busy("the maximum number of programs is already running"))
}

/// Refuses to start a call.
pub(crate) fn busy(why: &str) -> ToolFailure {
    ToolFailure::new(
        ToolErrorCode::Busy,
        format!(
            "This call was not started, because {why}. Call the tool again when other calls have ended."
        ),
    )
}
