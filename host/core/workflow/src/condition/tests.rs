use super::*;
use agent_host_types::json::JsonText;
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::json;
use std::collections::BTreeMap;

/// Returns the value of a reference by its text.
fn value_of(reference: &Reference) -> Resolved<'static> {
    let values = BTreeMap::from([
        ("a.text", json!("yes, please")),
        ("a.output.n", json!(1)),
        ("a.output.big", json!(9_007_199_254_740_993_u64)),
        ("a.output.list", json!(["x", 2, null])),
        ("a.output.object", json!({"k": [1.0]})),
        ("a.artifacts.ok", json!(true)),
        ("a.error", json!(null)),
        ("not.text", json!("in")),
        ("1.text", json!("one")),
    ]);
    let value = values.get(reference.to_string().as_str());
    value.map_or(Resolved::Null, |value| {
        Resolved::of_json(JsonText::try_from(value).unwrap())
    })
}

#[test]
fn condition_over_outputs_is_typed() {
    let cases = [
        ("a.text == 'yes, please'", true),
        (
            "a.output.n < 2 and a.output.n <= 1.0 and 2 > a.output.n",
            true,
        ),
        ("a.output.n >= 1 and not a.output.n > 1", true),
        ("a.output.big > 9007199254740992", true),
        ("a.output.big <= 9007199254740992", false),
        ("a.text < 'z' and a.text > 'yes'", true),
        ("a.output.n < '2'", false),
        ("not a.output.n < '2'", false),
        ("a.output.missing < 2", false),
        ("not a.output.missing < 2", false),
        ("a.text != 'yes, please'", false),
        (r#"a.text == "no""#, false),
        ("'yes' in a.text", true),
        ("'no' in a.text", false),
        ("a.output.n == 1", true),
        ("a.output.n == 1.0", true),
        ("a.output.n == '1'", false),
        ("a.output.n != '1'", true),
        ("a.output.n in [0, 1]", true),
        ("a.output.n in ['0', '1']", false),
        ("a.output.big == 9007199254740992", false),
        ("a.output.big == 9007199254740993", true),
        ("2 in a.output.list", true),
        ("'x' in a.output.list", true),
        ("null in a.output.list", true),
        ("3 in a.output.list", false),
        ("a.output.list == ['x', 2, null]", true),
        ("a.output.object == a.output.object", true),
        ("a.artifacts.ok", true),
        ("a.artifacts.ok == true", true),
        ("not a.artifacts.ok", false),
        ("a.text", false),
        ("a.output.missing == null", true),
        ("a.error == null", true),
        ("1 in a.output.n", false),
        ("-1.5 == -1.50", true),
        ("true", true),
        ("null", false),
        ("not.text == 'in'", true),
        ("not not.text == 'in'", false),
        ("1.text == 'one'", true),
        ("a.text in []", false),
        ("a.artifacts.ok and not (a.output.n == 2 or false)", true),
        ("true or false and false", true),
        ("(true or false) and false", false),
        ("true==true", true),
        ("  true\n and\ttrue ", true),
        (
            "a.output.n + 1 == 2 and a.output.n - 1 - a.output.n == -1",
            true,
        ),
        ("a.output.n + 0.1 + 0.2 == 1.3", true),
        ("a.output.big + 1 == 9007199254740994", true),
        ("a.text + 1 == null", true),
        ("not a.text + 1 > 0", false),
    ];
    for (text, expected) in cases {
        let condition: Condition = text.parse().unwrap();
        assert_eq!(condition.holds(&value_of), expected, "{text}");
    }
}

#[test]
fn condition_that_is_malformed_names_what_was_expected() {
    let cases = [
        ("", "a reference, a quoted text", 1),
        ("a.text ==", "a reference, a quoted text", 10),
        ("a.text = 'x'", "`==`", 8),
        ("a.text < true", "a number or a text on both sides", 14),
        ("a.text < [1]", "a number or a text on both sides", 13),
        ("a.text == 'x", "a closing quote", 13),
        ("(true", "`)`", 6),
        ("true)", "`==`", 5),
        ("true and", "a reference, a quoted text", 9),
        ("a == 'x'", "a reference, a quoted text", 2),
        ("a.txt == 'x'", "`text`, `output`", 3),
        ("system('rm')", "a reference, a quoted text", 7),
        ("a.text in ['x'", "`,` or `]`", 15),
        ("true andfalse", "`==`", 6),
    ];
    for (text, expected, column) in cases {
        let error = text.parse::<Condition>().unwrap_err();
        assert!(error.expected.contains(expected), "{text}: {error}");
        assert_eq!(error.column, column, "{text}: {error}");
    }
}

#[test]
fn condition_beyond_its_bounds_is_refused() {
    let nested = |levels: usize| {
        format!("{}true{}", "(".repeat(levels), ")".repeat(levels)).parse::<Condition>()
    };
    let negated = |levels: usize| format!("{}true", "not ".repeat(levels)).parse::<Condition>();
    assert!(nested(MAX_CONDITION_DEPTH).is_ok());
    assert!(negated(MAX_CONDITION_DEPTH).is_ok());
    for levels in [MAX_CONDITION_DEPTH + 1, 1_000] {
        for refused in [nested(levels), negated(levels)] {
            let error = refused.unwrap_err();
            assert!(error.expected.contains("32 levels"), "{error}");
        }
    }
    let error = nested(100_000).unwrap_err();
    assert_eq!(error.expected, "at most 4,096 bytes");
    let groups = vec!["(true)"; 300].join(" and ");
    assert!(
        groups.parse::<Condition>().is_ok(),
        "groups side by side are one level"
    );
}

#[test]
fn references_of_a_condition_are_in_the_order_of_the_text() {
    let condition: Condition = "not (b.text in [a.text, 'x']) or c.error.code == 'timeout'"
        .parse()
        .unwrap();
    let references: Vec<String> = condition
        .references()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(references, ["b.text", "a.text", "c.error.code"]);
}

proptest! {
    #[test]
    fn condition_of_any_text_does_not_panic_fuzz(text in "[a-c.()'\\[\\]=!, 0-9\"\\\\]{0,60}|.{0,40}") {
        if let Ok(condition) = text.parse::<Condition>() {
            let _ = condition.holds(&value_of);
        }
    }

    #[test]
    fn condition_of_any_words_does_not_panic_fuzz(
        words in prop::collection::vec(
            prop::sample::select(vec!["not", "and", "or", "in", "(", ")", "[", "]", ",", "==",
                "a.text", "a.output.n", "'x'", "1", "true", "null"]),
            0..24,
        )
    ) {
        if let Ok(condition) = words.join(" ").parse::<Condition>() {
            let negated: Condition = format!("not ({})", condition.as_str()).parse().unwrap();
            prop_assert_ne!(condition.holds(&value_of), negated.holds(&value_of));
        }
    }
}
