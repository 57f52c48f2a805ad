use super::*;
use pretty_assertions::assert_eq;

const UNDER_QUICK: Duration = Duration::from_micros(10);

/// Returns the number of quick calls until the next call may run inline.
fn calls_until_inline(history: &InlineHistory) -> u32 {
    (0..)
        .take_while(|_| {
            let waits = !history.may_inline();
            if waits {
                history.on_finished(UNDER_QUICK, 0);
            }
            waits
        })
        .count()
        .try_into()
        .unwrap()
}

#[test]
fn inline_needs_quick_calls_in_a_row() {
    type Break = fn(&InlineHistory);
    let cases: [(&str, Break); 3] = [
        ("slow", |history| history.on_finished(QUICK, 0)),
        ("yielded", |history| history.on_finished(UNDER_QUICK, 1)),
        ("long", InlineHistory::on_long),
    ];
    for (name, breaks) in cases {
        let history = InlineHistory::default();
        assert_eq!(calls_until_inline(&history), INITIAL_REQUIRED, "{name}");
        breaks(&history);
        assert!(!history.may_inline(), "{name}");
        assert_eq!(calls_until_inline(&history), INITIAL_REQUIRED, "{name}");
    }
}

#[test]
fn one_slow_call_after_a_double_streak_keeps_inline() {
    // Quick calls, then slow ones, and whether the next call may run inline.
    let cases = [
        (INITIAL_REQUIRED, 1, false),
        (2 * INITIAL_REQUIRED - 1, 1, false),
        (2 * INITIAL_REQUIRED, 1, true),
        (9 * INITIAL_REQUIRED, 1, true),
        (9 * INITIAL_REQUIRED, 2, false),
    ];
    for (quick, slow, inline) in cases {
        let history = InlineHistory::default();
        (0..quick).for_each(|_| history.on_finished(UNDER_QUICK, 0));
        (0..slow).for_each(|_| history.on_finished(QUICK, 0));
        assert_eq!(
            history.may_inline(),
            inline,
            "{slow} slow calls after {quick}"
        );
    }
    let history = InlineHistory::default();
    (0..9 * INITIAL_REQUIRED).for_each(|_| history.on_finished(UNDER_QUICK, 0));
    history.on_long();
    assert!(!history.may_inline(), "beyond a slice");
}

#[test]
fn each_overrun_doubles_the_required_streak() {
    let history = InlineHistory::default();
    let required: Vec<u32> = (0..4)
        .map(|_| {
            let calls = calls_until_inline(&history);
            history.on_overrun();
            calls
        })
        .collect();
    assert_eq!(required, [16, 32, 64, 128]);
    for _ in 0..64 {
        history.on_overrun();
    }
    assert_eq!(history.required.load(Ordering::Relaxed), MAX_REQUIRED);
}

#[test]
fn tool_starts_long_from_a_long_call_to_a_short_one() {
    let history = InlineHistory::default();
    assert!(!history.starts_long());
    history.on_long();
    assert!(history.starts_long());
    history.on_finished(QUICK, 3);
    assert!(!history.starts_long());
}
