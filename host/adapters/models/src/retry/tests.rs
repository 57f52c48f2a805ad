use super::*;
use pretty_assertions::assert_eq;

const POLICY: RetryPolicy = RetryPolicy {
    retries: 4,
    first_wait: Duration::from_millis(100),
    longest_wait: Duration::from_millis(500),
    total_wait: Duration::from_millis(1_000),
};

/// The waits in milliseconds until the schedule gives up.
fn waits(policy: RetryPolicy, retry: Retry, jitter: f64) -> Vec<u128> {
    let mut schedule = Schedule::new(policy);
    std::iter::from_fn(|| schedule.next_wait(retry, jitter).ok())
        .map(|wait| wait.as_millis())
        .collect()
}

#[test]
fn waits_double_within_length_number_and_sum() {
    let after = |milliseconds| Retry::After(Duration::from_millis(milliseconds));
    let patient = RetryPolicy {
        total_wait: Duration::from_secs(60),
        ..POLICY
    };
    let table: &[(&str, RetryPolicy, Retry, f64, &[u128])] = &[
        (
            "number",
            patient,
            Retry::Backoff,
            1.0,
            &[100, 200, 400, 500],
        ),
        ("sum", POLICY, Retry::Backoff, 1.0, &[100, 200, 400]),
        (
            "least jitter",
            patient,
            Retry::Backoff,
            0.0,
            &[50, 100, 200, 250],
        ),
        (
            "jitter out of range",
            patient,
            Retry::Backoff,
            7.0,
            &[100, 200, 400, 500],
        ),
        (
            "the server's wish",
            patient,
            after(30),
            0.3,
            &[30, 30, 30, 30],
        ),
        (
            "the server's wish, longer than a wait of ours",
            POLICY,
            after(600),
            0.3,
            &[600],
        ),
        ("a wish too long", POLICY, after(90_000), 0.3, &[]),
        ("no sense in it", POLICY, Retry::Never, 1.0, &[]),
        ("none", RetryPolicy::NONE, Retry::Backoff, 1.0, &[]),
    ];
    for (name, policy, retry, jitter, expected) in table {
        assert_eq!(waits(*policy, *retry, *jitter), *expected, "{name}");
    }
}

#[test]
fn attempts_count_the_first() {
    let mut schedule = Schedule::new(POLICY);
    assert_eq!(schedule.attempts(), 1);
    schedule.next_wait(Retry::Backoff, 0.0).unwrap();
    assert_eq!(schedule.attempts(), 2);
    let end = schedule.next_wait(Retry::Never, 0.0);
    assert_eq!((end, schedule.attempts()), (Err(GiveUp::Exhausted), 2));
}

/// The time that was waited counts: what is left of the policy's is the bound.
#[test]
fn requested_wait_beyond_policy_gives_up() {
    let mut schedule = Schedule::new(POLICY);
    let wish = Retry::After(Duration::from_millis(600));
    assert_eq!(
        schedule.next_wait(wish, 0.0),
        Ok(Duration::from_millis(600))
    );
    let end = GiveUp::TooLong {
        asked: Duration::from_millis(600),
        limit: POLICY.total_wait,
    };
    assert_eq!(schedule.next_wait(wish, 0.0), Err(end));
    let forever = Retry::After(Duration::MAX);
    let end = GiveUp::TooLong {
        asked: Duration::MAX,
        limit: POLICY.total_wait,
    };
    assert_eq!(schedule.next_wait(forever, 0.0), Err(end));
}

#[test]
fn jitter_is_in_range() {
    assert!((0..100).all(|_| (0.0..=1.0).contains(&jitter())));
}

#[test]
fn retry_after_is_seconds_or_a_date() {
    // 2015-10-21T07:28:00Z.
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_445_412_480);
    for (header, expected) in [
        ("0", Some(0)),
        (" 17 ", Some(17)),
        ("Wed, 21 Oct 2015 07:28:30 GMT", Some(30)),
        ("Wed, 21 Oct 2015 07:27:00 GMT", Some(0)),
        ("soon", None),
        ("-1", None),
        ("", None),
    ] {
        assert_eq!(
            retry_after(header, now),
            expected.map(Duration::from_secs),
            "{header:?}"
        );
    }
}
