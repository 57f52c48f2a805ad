use super::*;
use pretty_assertions::assert_eq;
use serde_json::json;

/// Of a missing value nothing holds, and of a value of another type it may.
#[test]
fn condition_over_arguments_tells_what_is_missing() {
    let input = json!({
        "amount": 500, "text": "600", "to": [{"iban": "DE1"}], "odd key": true, "none": null,
        "tags": ["a", "b"], "and": 1, "big": 18446744073709551616.0, "odd": 9007199254740993_u64,
    });
    // Whether it surely holds, and whether it may.
    let cases = [
        ("amount <= 500", (true, true)),
        ("amount > 500", (false, false)),
        ("not amount > 500", (true, true)),
        ("to.0.iban == 'DE1'", (true, true)),
        ("$['odd key']", (true, true)),
        ("$.and == 1 and $.to.0.iban == 'DE1'", (true, true)),
        ("amount in [1, 500] and 'a' in tags", (true, true)),
        ("missing == 1", (false, false)),
        ("missing != 1", (false, false)),
        ("not missing == 1", (false, false)),
        ("not missing", (false, false)),
        ("none == 1", (false, false)),
        ("to.1.iban == 'DE1' or amount == 500", (true, true)),
        ("to.1.iban == 'DE1' or amount == 501", (false, false)),
        ("missing == 1 and amount == 501", (false, false)),
        ("not (missing == 1 and amount == 501)", (true, true)),
        ("amount in [missing, 500]", (false, false)),
        ("text > 500", (false, true)),
        ("not text > 500", (false, true)),
        ("text > 500 and amount == 1", (false, false)),
        // Neither decides what the other leaves open.
        ("text > 500 or missing == 1", (false, true)),
        ("not (text > 500 and missing == 1)", (false, true)),
        ("text > 500 and missing == 1", (false, false)),
        // What reads the arguments may convert them.
        ("amount == '500'", (false, true)),
        ("amount != '500'", (false, true)),
        ("tags == 'a'", (false, true)),
        ("not tags == 'a'", (false, true)),
        ("'a' in tags", (true, true)),
        ("'c' in tags", (false, false)),
        ("tags in ['a', 'b']", (false, true)),
        ("text in [600]", (false, true)),
        ("text in [600, '600']", (true, true)),
        ("'6' in text", (true, true)),
        ("6 in text", (false, true)),
        ("text", (false, true)),
        ("tags == ['a', 'b']", (true, true)),
        ("big > 18446744073709551615", (true, true)),
        ("odd <= 9007199254740992.0", (false, false)),
        ("odd > 9007199254740992.5", (true, true)),
        ("text > 500 or amount == 500", (true, true)),
        ("text > 500 or amount == 1", (false, true)),
    ];
    for (text, expected) in cases {
        let condition: CallCondition = text.parse().unwrap();
        let input = input.as_object().unwrap();
        let found = (
            condition.holds(input, None, false),
            condition.holds(input, None, true),
        );
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn arguments_are_named_with_what_they_are_compared_with() {
    let text = "amount <= 500 and 'x' in tags and kind in ['a', other] or ok and a.b == c
        and sum(fee, 1h) + tip - 1 <= limit and count(2h) < most and time() < until";
    let condition: CallCondition = text.parse().unwrap();
    let compared = condition.compared().into_iter();
    let compared: Vec<_> = compared
        .map(|it| (it.path.to_string(), it.literal.cloned(), it.is_added))
        .collect();
    let expected = [
        ("amount", Some(json!(500)), false),
        ("tags", None, false),
        ("kind", Some(json!("a")), false),
        ("kind", None, false),
        ("other", None, false),
        ("ok", Some(json!(true)), false),
        ("a.b", None, false),
        ("c", None, false),
        ("fee", None, true),
        ("tip", None, true),
        ("limit", None, true),
        ("most", None, true),
        ("until", None, false),
    ];
    assert_eq!(
        compared,
        expected.map(|(path, literal, is_added)| (path.to_owned(), literal, is_added))
    );
}

#[test]
fn condition_over_arguments_that_never_holds_is_refused() {
    let cases = [
        ("$ == 1", "a key after `$`, as in `$['a key']` at column 2"),
        (
            "a >= 1e6",
            "an argument, a quoted text, a number, `true`, `false`, `null`, a list or a function at column 6",
        ),
        (
            "a in [1, null]",
            "a value other than null, since no condition about a missing argument holds, at column 10",
        ),
        (
            "count(0d) < 1",
            "a window of 1s to 31d in `s`, `m`, `h` or `d`, such as `1d` at column 7",
        ),
        (
            "count(32d) < 1",
            "a window of 1s to 31d in `s`, `m`, `h` or `d`, such as `1d` at column 7",
        ),
        (
            "sum(1d) < 1",
            "an argument, as in `sum(amount, 1d)` at column 5",
        ),
        (
            "sum(a) < 1",
            "`,` and a window, as in `sum(amount, 1d)` at column 6",
        ),
        (
            "total(1d) < 1",
            "`count(1d)`, `sum(ARGUMENT, 1d)`, `time()`, `weekday()` or `caller()` at column 7",
        ),
        (
            "time('cet') < '09:00'",
            "nothing for UTC, or an offset such as `'+02:00'` at column 6",
        ),
        (
            "a == 1 and count(1d)",
            "a comparison, as in `count(1d) < 3`, at column 12",
        ),
        (
            "count(1d) < '3'",
            "a number beside `count` and `sum` at column 1",
        ),
        (
            "a == 1 and time() < '9:00'",
            "a time of day such as '09:00' beside `time` at column 12",
        ),
        (
            "weekday() in ['mon', 'tues']",
            "`==`, `!=` or `in` and 'mon', 'tue', 'wed', 'thu', 'fri', 'sat' or 'sun' beside `weekday` at column 1",
        ),
        (
            "weekday() < 'tue'",
            "`==`, `!=` or `in` and 'mon', 'tue', 'wed', 'thu', 'fri', 'sat' or 'sun' beside `weekday` at column 1",
        ),
        ("caller() == 1", "a text beside `caller` at column 1"),
        (
            "count(1d) < time()",
            "two numbers, or two texts, at column 1",
        ),
        ("a + 1 == 'x'", "a number beside `+` and `-` at column 1"),
        (
            "a + 'x' == 1",
            "numbers on both sides of `+` and `-` at column 8",
        ),
    ];
    for (text, expected) in cases {
        let error = text.parse::<CallCondition>().unwrap_err();
        assert_eq!(error.to_string(), format!("expected {expected}"), "{text}");
    }
}

/// 2026-11-30, a Monday, at 19:30 UTC, after two calls.
fn facts() -> CallFacts {
    serde_json::from_value(json!({
        "at_ms": 1_796_067_000_000_u64, "caller": "ci",
        "windows": [
            { "window_ms": 86_400_000, "count": 2, "sums": { "/amount": 1500.5, "/fee": null } },
            { "window_ms": 1_000, "count": 0 },
        ],
    }))
    .unwrap()
}

#[test]
fn condition_over_facts_holds_for_what_is_known() {
    let input = json!({ "amount": 499.5, "text": "600", "count": 7, "none": null });
    // Whether it surely holds, and whether it may.
    let cases = [
        ("count(1d) < 3 and count( 24h ) == 2", (true, true)),
        ("count(1d) < 2", (false, false)),
        ("count == 7 and count(1s) < count", (true, true)),
        ("sum(amount, 1d) + amount <= 2000", (true, true)),
        ("sum(amount, 1d) + amount < 2000", (false, false)),
        ("sum(amount, 1d) - 0.1 - 0.2 == 1500.2", (true, true)),
        ("1 + amount == 500.5 and 0.1 + 0.2 == 0.3", (true, true)),
        // A window of which nothing is known, and a sum over an argument that was no number.
        ("count(2d) < 3", (false, true)),
        ("not count(2d) < 3", (false, true)),
        ("sum(fee, 1d) < 1", (false, true)),
        ("not sum(fee, 1d) < 1", (false, true)),
        ("sum(fee, 1d) + amount < 1", (false, true)),
        ("sum(other, 1d) >= 0", (false, true)),
        ("sum(fee, 1d) == sum(fee, 1d)", (false, true)),
        ("sum(fee, 1d) in [1, 2]", (false, true)),
        ("1 in sum(fee, 1d)", (false, true)),
        // Of a missing argument nothing holds, and one that is not a number may be read as one.
        ("sum(amount, 1d) + missing <= 2000", (false, false)),
        ("sum(amount, 1d) + none > 0", (false, false)),
        ("sum(amount, 1d) + text <= 2000", (false, true)),
        // No calculation overflows.
        ("amount + 1 > 9223372036854775807", (false, false)),
        (
            "18446744073709551615 + 18446744073709551615 > amount",
            (true, true),
        ),
        ("time() >= '09:00' and time() < '19:31'", (true, true)),
        ("time() == '19:30'", (true, true)),
        (
            "time('+02:00') == '21:30' and time('-05:30') == '14:00'",
            (true, true),
        ),
        ("weekday() in ['mon', 'tue']", (true, true)),
        ("weekday('+05:00') == 'tue'", (true, true)),
        (
            "caller() == 'ci' and caller() in ['ci', 'cd']",
            (true, true),
        ),
        ("caller() != 'ci'", (false, false)),
    ];
    for (text, expected) in cases {
        let condition: CallCondition = text.parse().unwrap();
        let (input, facts) = (input.as_object().unwrap(), facts());
        let holds = |is_possible| condition.holds(input, Some(&facts), is_possible);
        assert_eq!((holds(false), holds(true)), expected, "{text}");
    }
}

#[test]
fn facts_that_are_not_known_may_be_anything() {
    let texts = [
        "count(1d) < 3",
        "sum(amount, 1d) + amount <= 2",
        "time() > '09:00'",
        "weekday() == 'mon'",
        "caller() == 'ci'",
    ];
    let input = json!({ "amount": 1 });
    for text in texts {
        for text in [text.to_owned(), format!("not {text}")] {
            let condition: CallCondition = text.parse().unwrap();
            let holds =
                |is_possible| condition.holds(input.as_object().unwrap(), None, is_possible);
            assert_eq!((holds(false), holds(true)), (false, true), "{text}");
        }
    }
}

#[test]
fn facts_are_named_with_their_values() {
    let text =
        "count(90m) < 3 and sum($['a/b'], 1d) + sum(amount, 24h) < 3 and time('-05:30') > '01:00'
        and weekday() == 'mon' and caller() == 'ci' and count(1s) == 0";
    let condition: CallCondition = text.parse().unwrap();
    let named = condition.facts().into_iter();
    let named: Vec<_> = named
        .map(|fact| (fact.to_string(), fact.value(&facts())))
        .collect();
    let expected = [
        ("count(90m)", None),
        ("sum(a/b, 1d)", None),
        ("sum(amount, 1d)", Some("1500.5")),
        ("time('-05:30')", Some("'14:00'")),
        ("weekday()", Some("'mon'")),
        ("caller()", Some("'ci'")),
        ("count(1s)", Some("0")),
    ];
    let expected = expected.map(|(fact, value)| (fact.to_owned(), value.map(str::to_owned)));
    assert_eq!(named, expected);
}
