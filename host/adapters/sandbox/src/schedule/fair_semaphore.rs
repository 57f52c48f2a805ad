//! A semaphore that is FIFO within a tenant and round-robin between tenants, with a quota for each.
//!
//! Some permits can be reserved for tenants that hold none, so that a few busy tenants cannot hold
//! them all. Calls wait here for admission, and long-running guests for a processor.

#[cfg(test)]
mod tests;

use std::{
    collections::BTreeMap,
    ops::Bound,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, ready},
};
use tokio::sync::oneshot;

pub(crate) struct FairSemaphore(Mutex<SemaphoreState>);

struct SemaphoreState {
    /// The permits that no tenant holds.
    free: usize,
    /// How many of the free permits only tenants without a permit get.
    reserved: usize,
    waiting: usize,
    max_waiting: usize,
    /// The tenant that got the last permit.
    last_served: u64,
    /// The last id given to a tenant or a waiter.
    last_id: u64,
    tenants: BTreeMap<u64, TenantPermits>,
}

/// The permits that a tenant may hold and wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Quota {
    pub(crate) permits: usize,
    pub(crate) waiters: usize,
}

struct TenantPermits {
    quota: Quota,
    held: usize,
    /// Waiters by id, which is the order in which they came.
    waiters: BTreeMap<u64, oneshot::Sender<()>>,
}

/// The queue has no place for another waiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueueFull {
    /// The tenant's quota is used up.
    Tenant,
    /// The semaphore's own bound is reached.
    Total,
}

impl FairSemaphore {
    /// Creates a semaphore of `permits`, of which `reserved` go only to tenants without one, and
    /// `max_waiting` waiters over all tenants.
    pub(crate) fn new(permits: usize, reserved: usize, max_waiting: usize) -> Arc<Self> {
        Arc::new(Self(Mutex::new(SemaphoreState {
            free: permits,
            reserved,
            waiting: 0,
            max_waiting,
            last_served: 0,
            last_id: 0,
            tenants: BTreeMap::new(),
        })))
    }

    pub(crate) fn tenant(self: &Arc<Self>, quota: Quota) -> Arc<Tenant> {
        let mut state = self.lock();
        let id = state.next_id();
        let usage = TenantPermits {
            quota,
            held: 0,
            waiters: BTreeMap::new(),
        };
        state.tenants.insert(id, usage);
        Arc::new(Tenant {
            semaphore: Arc::clone(self),
            id,
        })
    }

    /// The state is consistent between any two statements, so a poisoned lock is usable.
    fn lock(&self) -> MutexGuard<'_, SemaphoreState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SemaphoreState {
    fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    fn has_permit_for(&self, usage: &TenantPermits) -> bool {
        let reserved = if usage.held == 0 { 0 } else { self.reserved };
        self.free > reserved && usage.held < usage.quota.permits
    }

    /// Grants a permit if one is free. None is while a waiter could use it.
    fn try_grant(&mut self, tenant: u64) -> bool {
        let usage = self.tenants.get(&tenant);
        let granted = usage.is_some_and(|usage| self.has_permit_for(usage));
        if granted {
            self.grant(tenant);
        }
        granted
    }

    fn grant(&mut self, tenant: u64) {
        if let Some(usage) = self.tenants.get_mut(&tenant) {
            usage.held += 1;
            self.free -= 1;
            self.last_served = tenant;
        }
    }

    fn release(&mut self, tenant: u64) {
        self.free += 1;
        if let Some(usage) = self.tenants.get_mut(&tenant) {
            usage.held -= 1;
        }
        self.wake_waiters();
    }

    /// Grants free permits to waiters, starting with the tenant after the one served last.
    fn wake_waiters(&mut self) {
        while let Some(tenant) = self.next_waiting_tenant()
            && let Some(usage) = self.tenants.get_mut(&tenant)
            && let Some((_, waiter)) = usage.waiters.pop_first()
        {
            // A waiter removes itself before its receiver is dropped, so it receives this.
            let _ = waiter.send(());
            self.waiting -= 1;
            self.grant(tenant);
        }
    }

    fn next_waiting_tenant(&self) -> Option<u64> {
        let after = (Bound::Excluded(self.last_served), Bound::Unbounded);
        self.tenants
            .range(after)
            .chain(self.tenants.range(..=self.last_served))
            .find(|(_, usage)| self.has_permit_for(usage) && !usage.waiters.is_empty())
            .map(|(tenant, _)| *tenant)
    }
}

/// A party to the semaphore, with its own quota and queue.
pub(crate) struct Tenant {
    semaphore: Arc<FairSemaphore>,
    id: u64,
}

impl Tenant {
    pub(crate) fn try_acquire(self: &Arc<Self>) -> Option<Permit> {
        let granted = self.semaphore.lock().try_grant(self.id);
        granted.then(|| Permit(Arc::clone(self)))
    }

    /// Returns the future of a permit, which has its place in the queue from now on.
    ///
    /// # Errors
    /// The queue is full.
    pub(crate) fn acquire(self: &Arc<Self>) -> Result<Acquire, QueueFull> {
        let mut guard = self.semaphore.lock();
        let state = &mut *guard;
        let progress = if state.try_grant(self.id) {
            AcquireProgress::Granted
        } else {
            if state.waiting >= state.max_waiting {
                return Err(QueueFull::Total);
            }
            let id = state.next_id();
            let usage = state.tenants.get_mut(&self.id).ok_or(QueueFull::Tenant)?;
            if usage.waiters.len() >= usage.quota.waiters {
                return Err(QueueFull::Tenant);
            }
            let (sender, receiver) = oneshot::channel();
            usage.waiters.insert(id, sender);
            state.waiting += 1;
            AcquireProgress::Waiting { id, receiver }
        };
        Ok(Acquire {
            tenant: Arc::clone(self),
            progress,
        })
    }

    /// True if the tenant holds all permits of its quota.
    pub(crate) fn is_at_quota(&self) -> bool {
        let state = self.semaphore.lock();
        state
            .tenants
            .get(&self.id)
            .is_some_and(|usage| usage.held >= usage.quota.permits)
    }

    /// Returns the number of free permits; while this tenant waits below its quota, they are the
    /// reserved ones.
    pub(crate) fn free_permits(&self) -> usize {
        self.semaphore.lock().free
    }
}

impl Drop for Tenant {
    /// Permits and waiters hold their tenant, so there are none left.
    fn drop(&mut self) {
        self.semaphore.lock().tenants.remove(&self.id);
    }
}

/// Released on drop, which grants it to the next waiter.
pub(crate) struct Permit(Arc<Tenant>);

impl Drop for Permit {
    fn drop(&mut self) {
        self.0.semaphore.lock().release(self.0.id);
    }
}

/// The future of a [`Permit`]. Dropping it leaves the queue, or releases the permit.
pub(crate) struct Acquire {
    tenant: Arc<Tenant>,
    progress: AcquireProgress,
}

enum AcquireProgress {
    /// Granted and not yet returned.
    Granted,
    Waiting {
        id: u64,
        receiver: oneshot::Receiver<()>,
    },
    Done,
}

impl Future for Acquire {
    type Output = Permit;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Permit> {
        if let AcquireProgress::Waiting { receiver, .. } = &mut self.progress {
            // The sender stays in the state until it sends, so the receiver never fails.
            let _ = ready!(Pin::new(receiver).poll(context));
        }
        self.progress = AcquireProgress::Done;
        Poll::Ready(Permit(Arc::clone(&self.tenant)))
    }
}

impl Drop for Acquire {
    fn drop(&mut self) {
        let id = match &self.progress {
            AcquireProgress::Done => return,
            AcquireProgress::Granted => None,
            AcquireProgress::Waiting { id, .. } => Some(id),
        };
        let mut guard = self.tenant.semaphore.lock();
        let state = &mut *guard;
        let usage = state.tenants.get_mut(&self.tenant.id);
        // A waiter that is no longer in the queue was granted a permit that it has not seen.
        match id.and_then(|id| usage?.waiters.remove(id)) {
            Some(_) => state.waiting -= 1,
            None => state.release(self.tenant.id),
        }
    }
}
