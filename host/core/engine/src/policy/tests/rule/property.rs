//! Properties of all rules.

use super::*;
use proptest::{prelude::*, sample::select};

/// Rules over few names and values, so that they often match.
fn any_rule() -> impl Strategy<Value = CallRule> {
    let condition = (
        select(vec!["/p", "/q"]),
        select(vec![
            json!("a/**"),
            json!("a"),
            json!("**"),
            json!("/a/*"),
            json!({"equals": 1}),
            json!({"equals": "a/b"}),
        ]),
    );
    (
        select(vec![Allow, Ask, Deny]),
        select(vec!["send", "s*", "*", "post"]),
        prop::collection::vec(condition, 0..3),
        prop::option::of(select(vec!["main", "*", "other"])),
        prop::option::of(select(vec![
            "p < 2",
            "not p > 1",
            "p == 'a' or q != 1",
            "count(1d) < 2",
            "not count(1d) < 2",
            "sum(p, 1d) + p <= 3",
            "time() < '12:00' and caller() != 'ci'",
        ])),
    )
        .prop_map(|(decision, tool, conditions, agent, condition)| {
            let conditions = conditions.into_iter();
            let conditions = conditions.map(|(pointer, test)| (pointer.to_owned(), test));
            CallRule {
                agent: agent.map(|agent| NameGlob::new(agent).unwrap()),
                condition: condition.map(|text| text.parse().unwrap()),
                ..rule(decision, tool, &Value::Object(conditions.collect()))
            }
        })
}

fn any_input() -> impl Strategy<Value = Map<String, Value>> {
    let value = select(vec![
        json!("a"),
        json!("a/b"),
        json!("./a//b"),
        json!("x/../a"),
        json!("/a/b"),
        json!("b"),
        json!(1),
        json!(1.0),
        json!(["a", "b"]),
        json!(null),
    ]);
    prop::collection::vec((select(vec!["p", "q"]), value), 0..3).prop_map(|pairs| {
        let pairs = pairs.into_iter();
        pairs.map(|(key, value)| (key.to_owned(), value)).collect()
    })
}

/// Facts that are known, or not, or a sum of which is not.
fn any_facts() -> impl Strategy<Value = Option<CallFacts>> {
    let windows = select(vec![
        json!([]),
        json!([{ "window_ms": 86_400_000, "count": 1, "sums": { "/p": 2 } }]),
        json!([{ "window_ms": 86_400_000, "count": 2, "sums": { "/p": null } }]),
    ]);
    let facts = (windows, select(vec!["ci", "operator"]), 0..86_400_000_u64);
    prop::option::of(facts.prop_map(|(windows, caller, at_ms)| CallFacts {
        at_ms,
        caller: caller.to_owned(),
        windows: serde_json::from_value(windows).unwrap(),
    }))
}

proptest! {
    /// More rules never allow what was denied, one more denial never loosens anything, and the
    /// order never matters.
    #[test]
    fn denial_stays_and_order_of_rules_never_matters(
        rules in prop::collection::vec(any_rule(), 0..8),
        more in any_rule(),
        input in any_input(),
        facts in any_facts(),
        shuffled in any::<prop::sample::Index>(),
    ) {
        let facts = facts.as_ref();
        let decision = |rules: &[CallRule]| {
            deciding_with(rules, &input, None, facts).map(|rule| rule.decision)
        };
        let rules = numbered(rules);
        let before = decision(&rules);
        let mut all = rules.clone();
        let at = shuffled.index(rules.len() + 1);
        all.insert(at, more.clone());
        if before == Some(Deny) {
            prop_assert_eq!(decision(&all), before);
        }
        if more.decision == Deny {
            prop_assert!(decision(&all) == before || decision(&all) == Some(Deny));
        }
        let mut rotated = rules.clone();
        rotated.rotate_left(at.min(rules.len()));
        rotated.reverse();
        let names = [&rules, &rotated].map(|rules| {
            deciding_with(rules, &input, None, facts).map(|rule| rule.name.clone())
        });
        prop_assert_eq!(&names[0], &names[1]);
    }

    /// A denial also matches by facts that are not known, and an allowance by none of them.
    #[test]
    fn facts_that_are_not_known_are_read_strictly(
        rule in any_rule(),
        input in any_input(),
        facts in any_facts(),
    ) {
        let matches = |decision, facts| {
            let rules = [CallRule { decision, ..rule.clone() }];
            deciding_with(&rules, &input, None, facts).is_some()
        };
        prop_assert!(!matches(Deny, facts.as_ref()) || matches(Deny, None));
        prop_assert!(!matches(Allow, None) || matches(Allow, facts.as_ref()));
        prop_assert!(!matches(Allow, facts.as_ref()) || matches(Deny, facts.as_ref()));
    }

    /// An asking or denying glob matches whatever an allowing one matches.
    #[test]
    fn strict_reading_covers_the_exact_one(
        glob in "[a-cA-C ./*?ß\u{200b}]{1,8}",
        value in "[a-cA-C ./~:ß\u{200b}]{0,8}",
    ) {
        if ArgumentGlob::new(&glob).is_ok() {
            let [allow, ask, deny] = matches(&json!({"/p": glob}), &json!({"p": value}));
            prop_assert!(!allow || (ask && deny), "{} {}", glob, value);
        }
    }
}
