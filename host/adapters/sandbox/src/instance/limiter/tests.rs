use super::*;
use pretty_assertions::assert_eq;

fn limiter() -> Limiter {
    let limits = Limits {
        memory_bytes: 100,
        table_elements: 10,
        instances: 1,
        memories: 2,
        tables: 3,
        ..Limits::default()
    };
    Limiter::new(&limits, Telemetry::new(0, &Arc::default()))
}

fn grow(limiter: &mut Limiter, from: usize, to: usize) -> bool {
    limiter.grow_memory(from, to, None)
}

#[test]
fn memories_share_one_limit() {
    let mut limiter = limiter();
    let steps = [
        // One memory, then a second one, up to exactly the limit.
        ((0, 60), true, 60),
        ((0, 30), true, 90),
        ((30, 40), true, 100),
        ((60, 61), false, 100),
    ];
    for ((from, to), allowed, peak) in steps {
        assert_eq!(grow(&mut limiter, from, to), allowed, "{from} {to}");
        assert_eq!(limiter.telemetry.peak_memory_bytes(), peak, "{from} {to}");
    }
    assert_eq!(limiter.exceeded, Some(LimitExceeded::Memory));
}

#[test]
fn growth_beyond_own_maximum_is_not_our_limit() {
    let mut limiter = limiter();
    assert!(!limiter.grow_memory(0, 50, Some(40)));
    assert!(!limiter.grow_table(50, Some(40)));
    assert_eq!(limiter.exceeded, None);
    // Beyond both, our limit is reported.
    assert!(!limiter.grow_memory(0, 101, Some(40)));
    assert_eq!(limiter.exceeded, Some(LimitExceeded::Memory));
}

#[test]
fn failed_growth_is_given_back() {
    let mut limiter = limiter();
    assert!(grow(&mut limiter, 0, 90));
    limiter
        .memory_grow_failed(wasmtime::Error::msg("no memory"))
        .unwrap();
    assert_eq!(limiter.exceeded, Some(LimitExceeded::Memory));
    assert!(grow(&mut limiter, 0, 90));
}

#[test]
fn tables_and_instances_are_limited() {
    let mut limiter = limiter();
    assert!(limiter.grow_table(10, None));
    assert_eq!(limiter.exceeded, None);
    assert!(!limiter.grow_table(11, None));
    assert_eq!(limiter.exceeded, Some(LimitExceeded::TableElements));
    assert_eq!(
        (limiter.instances(), limiter.memories(), limiter.tables()),
        (1, 2, 3)
    );
}
