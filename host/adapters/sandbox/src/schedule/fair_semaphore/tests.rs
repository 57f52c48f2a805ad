use super::*;
use pretty_assertions::assert_eq;
use std::task::Waker;

const QUOTA: Quota = Quota {
    permits: 8,
    waiters: 8,
};

fn poll_once(acquire: &mut Acquire) -> Option<Permit> {
    match Pin::new(acquire).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(permit) => Some(permit),
        Poll::Pending => None,
    }
}

/// Returns the numbers of free permits and of waiters.
fn counts(semaphore: &FairSemaphore) -> (usize, usize) {
    let state = semaphore.lock();
    (state.free, state.waiting)
}

#[test]
fn permits_released_go_round_robin_and_fifo_within_a_tenant() {
    let semaphore = FairSemaphore::new(1, 0, 100);
    let (a, b, c) = (
        semaphore.tenant(QUOTA),
        semaphore.tenant(QUOTA),
        semaphore.tenant(QUOTA),
    );
    let mut permit = a.try_acquire();
    let mut waiting: Vec<(&str, Acquire)> = [
        ("a1", &a),
        ("a2", &a),
        ("a3", &a),
        ("b1", &b),
        ("c1", &c),
        ("b2", &b),
    ]
    .map(|(name, tenant)| (name, tenant.acquire().unwrap()))
    .into();
    let mut order = Vec::new();
    while !waiting.is_empty() {
        assert!(
            waiting
                .iter_mut()
                .all(|(_, acquire)| poll_once(acquire).is_none())
        );
        drop(permit.take());
        let mut ready: Vec<(usize, Permit)> = waiting
            .iter_mut()
            .enumerate()
            .filter_map(|(index, (_, acquire))| Some((index, poll_once(acquire)?)))
            .collect();
        let (index, next) = ready.pop().unwrap();
        assert!(
            ready.is_empty(),
            "one permit, and more than one waiter got it"
        );
        order.push(waiting.remove(index).0);
        permit = Some(next);
    }
    assert_eq!(order, ["b1", "c1", "a1", "b2", "a2", "a3"]);
    drop(permit);
    assert_eq!(counts(&semaphore), (1, 0));
}

#[test]
fn tenant_at_its_quota_leaves_the_rest_to_others() {
    let semaphore = FairSemaphore::new(4, 0, 3);
    let greedy = semaphore.tenant(Quota {
        permits: 3,
        waiters: 2,
    });
    let other = semaphore.tenant(QUOTA);
    let mut permits: Vec<Permit> = std::iter::from_fn(|| greedy.try_acquire()).collect();
    assert_eq!((permits.len(), greedy.is_at_quota()), (3, true));

    let mut first = greedy.acquire().unwrap();
    let second = greedy.acquire().unwrap();
    assert_eq!(greedy.acquire().map(drop), Err(QueueFull::Tenant));
    // A permit is free, but not for this tenant.
    assert!(poll_once(&mut first).is_none());
    assert_eq!(counts(&semaphore), (1, 2));

    let others = other.try_acquire();
    assert!(others.is_some() && other.try_acquire().is_none());
    let third = other.acquire().unwrap();
    assert_eq!(other.acquire().map(drop), Err(QueueFull::Total));

    // A released permit goes to the next tenant in turn that is below its quota.
    let mut third = third;
    drop(permits.pop());
    let firsts = poll_once(&mut first);
    assert!(firsts.is_some() && poll_once(&mut third).is_none());
    drop(others);
    assert!(poll_once(&mut third).is_some());
    assert_eq!(counts(&semaphore), (1, 1));
    drop((firsts, permits, second));
    assert_eq!(counts(&semaphore), (4, 0));
}

#[test]
fn reserved_permits_go_to_tenants_without_one() {
    let semaphore = FairSemaphore::new(8, 3, 100);
    let greedy: Vec<Arc<Tenant>> = (0..2).map(|_| semaphore.tenant(QUOTA)).collect();
    let mut permits: Vec<Permit> = std::iter::from_fn(|| greedy[0].try_acquire()).collect();
    assert_eq!((permits.len(), counts(&semaphore)), (5, (3, 0)));
    // A tenant without a permit gets one reserved permit, and no second one.
    let seconds = greedy[1].try_acquire();
    assert!(seconds.is_some() && greedy[1].try_acquire().is_none());
    let mut wait: Vec<Acquire> = greedy
        .iter()
        .map(|tenant| tenant.acquire().unwrap())
        .collect();
    assert!(wait.iter_mut().all(|acquire| poll_once(acquire).is_none()));
    assert_eq!((greedy[0].free_permits(), counts(&semaphore)), (2, (2, 2)));

    // A new tenant does not wait behind them, and releases its permit to the next new tenant.
    for _ in 0..10 {
        let other = semaphore.tenant(QUOTA);
        assert!(other.try_acquire().is_some());
        assert!(wait.iter_mut().all(|acquire| poll_once(acquire).is_none()));
    }
    // Greedy tenants are served again, in turn, as soon as more than the reserved permits are free.
    drop(permits.pop());
    assert_eq!(counts(&semaphore), (3, 2));
    drop(permits.pop());
    let got: Vec<Option<Permit>> = wait.iter_mut().map(poll_once).collect();
    let has: Vec<bool> = got.iter().map(Option::is_some).collect();
    assert_eq!((has, counts(&semaphore)), (vec![true, false], (3, 1)));
}

#[test]
fn dropped_waiters_permits_and_tenants_leave_no_state() {
    let semaphore = FairSemaphore::new(1, 0, 8);
    let tenant = semaphore.tenant(QUOTA);
    let never_polled = tenant.acquire().unwrap();
    let waits = tenant.acquire().unwrap();
    let second = tenant.acquire().unwrap();
    assert_eq!(counts(&semaphore), (0, 2));
    // A permit granted and not returned, a waiter, and a permit granted and not seen.
    drop(waits);
    assert_eq!(counts(&semaphore), (0, 1));
    drop(never_polled);
    assert_eq!(counts(&semaphore), (0, 0));
    drop(second);
    assert_eq!(counts(&semaphore), (1, 0));

    let permit = tenant.try_acquire();
    let mut last = tenant.acquire().unwrap();
    drop(tenant);
    drop(permit);
    let permit = poll_once(&mut last);
    assert!(permit.is_some());
    drop((permit, last));
    assert_eq!(
        (counts(&semaphore), semaphore.lock().tenants.len()),
        ((1, 0), 0)
    );
}
