use super::*;
use pretty_assertions::assert_eq;

const QUICKLY: Duration = Duration::from_micros(10);

/// How many quick calls it takes from here until the tool is trusted.
fn until_trusted(standing: &Standing) -> u32 {
    (0..)
        .take_while(|_| {
            let waits = !standing.is_trusted();
            if waits {
                standing.ended(QUICKLY, 0);
            }
            waits
        })
        .count()
        .try_into()
        .unwrap()
}

#[test]
fn trust_is_earned_by_quick_calls_in_a_row() {
    type Break = fn(&Standing);
    let cases: [(&str, Break); 3] = [
        ("slow", |standing| standing.ended(QUICK, 0)),
        ("paused", |standing| standing.ended(QUICKLY, 1)),
        ("long", Standing::overran),
    ];
    for (name, breaks) in cases {
        let standing = Standing::default();
        assert_eq!(until_trusted(&standing), NEEDED, "{name}");
        breaks(&standing);
        assert!(!standing.is_trusted(), "{name}");
        assert_eq!(until_trusted(&standing), NEEDED, "{name}");
    }
}

#[test]
fn one_slow_call_is_forgiven_after_twice_as_many_quick_ones() {
    // Quick calls, then slow ones: how many of these leave the trust.
    let cases = [
        (NEEDED, 1, false),
        (2 * NEEDED - 1, 1, false),
        (2 * NEEDED, 1, true),
        (9 * NEEDED, 1, true),
        (9 * NEEDED, 2, false),
    ];
    for (quick, slow, trusted) in cases {
        let standing = Standing::default();
        (0..quick).for_each(|_| standing.ended(QUICKLY, 0));
        (0..slow).for_each(|_| standing.ended(QUICK, 0));
        assert_eq!(
            standing.is_trusted(),
            trusted,
            "{slow} slow calls after {quick}"
        );
    }
    let standing = Standing::default();
    (0..9 * NEEDED).for_each(|_| standing.ended(QUICKLY, 0));
    standing.overran();
    assert!(!standing.is_trusted(), "beyond a slice");
}

#[test]
fn each_abuse_doubles_the_price() {
    let standing = Standing::default();
    let prices: Vec<u32> = (0..4)
        .map(|_| {
            let price = until_trusted(&standing);
            standing.betrayed();
            price
        })
        .collect();
    assert_eq!(prices, [16, 32, 64, 128]);
    for _ in 0..64 {
        standing.betrayed();
    }
    assert_eq!(standing.needed.load(Ordering::Relaxed), MOST_NEEDED);
}

#[test]
fn a_tool_is_long_from_a_long_call_to_a_short_one() {
    let standing = Standing::default();
    assert!(!standing.is_long());
    standing.overran();
    assert!(standing.is_long());
    standing.ended(QUICK, 3);
    assert!(!standing.is_long());
}
