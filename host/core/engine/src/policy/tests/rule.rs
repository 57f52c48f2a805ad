//! Rules about calls: which of them match, which one decides, and what each way to write a value
//! does to them.

mod property;

use super::calls::tool;
use crate::policy::{
    ArgumentGlob, ArgumentPointer, ArgumentTest, CallRequest, CallRule, NameGlob, RuleDecision,
    RuleError, deciding_rule,
};
use RuleDecision::{Allow, Ask, Deny};
use agent_host_types::{
    facts::CallFacts,
    id::object_digest,
    tool::{Approval, Effect},
};
use pretty_assertions::assert_eq;
use serde_json::{Map, Value, json};
use std::time::{Duration, Instant};

/// A rule `rule.0` with conditions by pointer: a glob, or `{"equals": VALUE}`.
pub(super) fn rule(decision: RuleDecision, tool: &str, arguments: &Value) -> CallRule {
    let test = |test: &Value| match test {
        Value::String(glob) => ArgumentTest::Glob(Box::new(ArgumentGlob::new(glob).unwrap())),
        other => ArgumentTest::Equals(other["equals"].clone()),
    };
    let arguments = arguments.as_object().unwrap().iter();
    CallRule {
        name: "rule.0".to_owned(),
        decision,
        tools: vec![NameGlob::new(tool).unwrap()],
        agent: None,
        arguments: arguments
            .map(|(pointer, value)| (ArgumentPointer::new(pointer).unwrap(), test(value)))
            .collect(),
        condition: None,
        reason: None,
    }
}

/// A rule with a condition on all arguments.
fn rule_where(decision: RuleDecision, condition: &str) -> CallRule {
    CallRule {
        condition: Some(condition.parse().unwrap()),
        ..rule(decision, "send", &json!({}))
    }
}

/// Names rules by their position.
fn numbered(rules: Vec<CallRule>) -> Vec<CallRule> {
    let named = rules.into_iter().enumerate();
    let name = |(index, rule): (usize, CallRule)| CallRule {
        name: index.to_string(),
        ..rule
    };
    named.map(name).collect()
}

/// The rule that decides on a call of `send` with these arguments.
fn deciding<'r>(
    rules: &'r [CallRule],
    input: &Map<String, Value>,
    agent: Option<&str>,
) -> Option<&'r CallRule> {
    deciding_with(rules, input, agent, None)
}

/// The rule that decides on a call with these facts.
fn deciding_with<'r>(
    rules: &'r [CallRule],
    input: &Map<String, Value>,
    agent: Option<&str>,
    facts: Option<&CallFacts>,
) -> Option<&'r CallRule> {
    let tool = tool(Effect::Effectful, Approval::ByEffect);
    let call = CallRequest {
        tool: &tool,
        input,
        input_digest: object_digest(input),
        agent,
        facts,
    };
    deciding_rule(rules, &call)
}

/// Whether a rule of each decision with this condition matches these arguments.
fn matches(arguments: &Value, input: &Value) -> [bool; 3] {
    let input = input.as_object().unwrap();
    [Allow, Ask, Deny].map(|decision| {
        let rules = [rule(decision, "send", arguments)];
        deciding(&rules, input, None).is_some()
    })
}

/// A missing value satisfies no rule, and one of another type satisfies the strict ones.
#[test]
fn rule_matches_calls_whose_arguments_meet_its_condition() {
    let condition = "amount <= 500 and currency == 'EUR'";
    let cases = [
        (json!({"amount": 500.0, "currency": "EUR"}), [true; 3]),
        (json!({"amount": 501, "currency": "EUR"}), [false; 3]),
        (
            json!({"amount": "5", "currency": "EUR"}),
            [false, true, true],
        ),
        (json!({"amount": 5, "currency": "eur"}), [false; 3]),
        (
            json!({"amount": 5, "currency": ["EUR"]}),
            [false, true, true],
        ),
        (json!({"amount": 5}), [false; 3]),
        (json!({"amount": null, "currency": "EUR"}), [false; 3]),
        (json!({}), [false; 3]),
    ];
    for (input, expected) in cases {
        let input = input.as_object().unwrap();
        let found = [Allow, Ask, Deny].map(|decision| {
            let rules = [rule_where(decision, condition)];
            deciding(&rules, input, None).is_some()
        });
        assert_eq!(found, expected, "{input:?}");
    }
    // It is one condition more than none, and as many as one on an argument.
    let input = json!({"amount": 5, "/a": "x"});
    let input = input.as_object().unwrap();
    let rules = [
        rule(Allow, "send", &json!({})),
        rule_where(Ask, "amount < 9"),
    ];
    assert_eq!(deciding(&rules, input, None), Some(&rules[1]));
}

#[test]
fn rule_matches_tools_and_agents_by_name_or_glob() {
    let none = Map::new();
    for (glob, expected) in [
        ("send", true),
        ("se*", true),
        ("*", true),
        ("s?nd", true),
        ("{post,send}", true),
        ("Send", false),
        ("send_all", false),
        ("sen", false),
    ] {
        let rules = [rule(Deny, glob, &json!({}))];
        assert_eq!(deciding(&rules, &none, None).is_some(), expected, "{glob}");
        assert_eq!(rules[0].names("send"), expected, "{glob}");
    }
    let mut of_agent = rule(Deny, "send", &json!({}));
    for (glob, agent, expected) in [
        ("main", None, true),
        ("main", Some("review"), false),
        ("review*", Some("review-2"), true),
        ("review*", None, false),
        ("*", Some("any"), true),
    ] {
        of_agent.agent = Some(NameGlob::new(glob).unwrap());
        let rules = [of_agent.clone()];
        let found = deciding(&rules, &none, agent).is_some();
        assert_eq!(found, expected, "{glob} {agent:?}");
    }
}

/// Each row is a set of rules in which the second decides, in either order.
#[test]
fn deciding_rule_is_the_denial_or_the_most_specific() {
    let two = json!({"/a": "x", "/b": "y"});
    let of_main = |decision| CallRule {
        agent: Some(NameGlob::new("main").unwrap()),
        ..rule(decision, "send", &json!({}))
    };
    let input = json!({"a": "x", "b": "y"});
    let input = input.as_object().unwrap();
    for (loses, decides) in [
        // A denial, however unspecific.
        (rule(Allow, "send", &two), rule(Deny, "*", &json!({}))),
        (of_main(Allow), rule(Deny, "*", &json!({}))),
        // An exact name, before conditions.
        (rule(Ask, "s*", &two), rule(Allow, "send", &json!({}))),
        (rule(Allow, "s*", &two), rule(Ask, "send", &json!({}))),
        // More conditions, before the agent.
        (
            rule(Ask, "send", &json!({"/a": "x"})),
            rule(Allow, "send", &two),
        ),
        (of_main(Ask), rule(Allow, "send", &json!({"/a": "x"}))),
        // The agent.
        (rule(Ask, "send", &json!({})), of_main(Allow)),
        // Among equals, the stricter one.
        (
            rule(Allow, "send", &json!({})),
            rule(Ask, "send", &json!({})),
        ),
        (rule(Allow, "*", &two), rule(Ask, "s*", &two)),
    ] {
        for rules in [
            [loses.clone(), decides.clone()],
            [decides.clone(), loses.clone()],
        ] {
            assert_eq!(deciding(&rules, input, None), Some(&decides), "{rules:?}");
        }
    }
    // A rule that does not match is as none.
    let rules = [rule(Deny, "send", &json!({"/a": "z"}))];
    assert_eq!(deciding(&rules, input, None), None);
}

/// The columns: the glob, the value, and whether a rule that allows, asks or denies matches.
#[test]
fn glob_of_an_allowing_rule_is_exact_and_of_others_covers() {
    const NO: [bool; 3] = [false, false, false];
    const STRICT: [bool; 3] = [false, true, true];
    const ALL: [bool; 3] = [true, true, true];
    let table = [
        ("src/**", "src/a.rs", ALL),
        ("src/**", "src/a/b.rs", ALL),
        ("src/*", "src/a/b.rs", STRICT),
        ("src/**", "lib/a.rs", NO),
        ("src/**", "srcs/a.rs", NO),
        ("src/**", "lib/src/a.rs", NO),
        ("**", "a/b", ALL),
        ("**", "", ALL),
        ("**", ".", ALL),
        ("*", "a", ALL),
        // Spellings of the same path.
        ("src/**", "./src/a.rs", ALL),
        ("src/**", "src//a.rs", ALL),
        ("src/**", "src/./a.rs", ALL),
        ("./src//**", "src/a.rs", ALL),
        ("src/a", "src/a/", ALL),
        ("src/", "src", ALL),
        // The directory itself: removing it removes all of it.
        ("src/**", "src", STRICT),
        ("src/**", "src/", STRICT),
        // Whatever is below a path.
        ("src", "src/a.rs", STRICT),
        (".env*", "app/.env.local", STRICT),
        // A way up, which symbolic links can turn anywhere.
        ("src/**", "src/../secret", NO),
        ("src/**", "lib/../src/a.rs", STRICT),
        ("src/**", "../project/src/a.rs", STRICT),
        ("src/**", "src/..\\..\\a", STRICT),
        ("**", "../a", STRICT),
        ("**", "..", STRICT),
        ("**/*.md", "a..b/c.md", ALL),
        // An absolute path, or a home directory, for a glob without one.
        ("**/*.md", "/etc/a.md", STRICT),
        ("**", "~/.ssh/id", STRICT),
        ("src/**", "/workspace/src/a.rs", STRICT),
        ("src/**", "/workspace/lib/a.rs", NO),
        ("/srv/**", "/srv/a", ALL),
        ("/srv/**", "srv/a", STRICT),
        ("/**", "/etc/passwd", ALL),
        ("**", "C:\\x", STRICT),
        // Case and characters that are not seen.
        ("src/**", "SRC/a.rs", STRICT),
        ("Src/**", "sRC/a.rs", STRICT),
        ("src/**", "s\u{200b}rc/a.rs", STRICT),
        ("src/**", "src./a.rs", STRICT),
        ("stra\u{df}e", "STRASSE", STRICT),
        (".env", " .env\n", STRICT),
        ("**/*.md", " /etc/a.md", STRICT),
        ("**", "a/ .. /b", STRICT),
        // A letter with an accent, composed and not: other text.
        ("caf\u{e9}", "cafe\u{301}", NO),
        // URLs.
        ("https://a.example/v1/**", "https://a.example/v1/x", ALL),
        ("https://a.example/**", "https://a.example@b.example/x", NO),
        ("https://a.example/**", "http://a.example/x", NO),
        ("https://a.example/v1/**", "https://a.example/v1/../x", NO),
        (
            "https://a.example/v1/**",
            "https://a.example/v1/%2e%2E/x",
            STRICT,
        ),
        ("**", "https://a.example/x", STRICT),
        // Text that is no path.
        ("git status", "git status", ALL),
        ("git *", "git push", ALL),
        ("cargo *", "cargo test a::b", ALL),
        ("git *", "git log x/y", STRICT),
        ("git *", "rm x", NO),
    ];
    let found = table.map(|(glob, value, _)| {
        let found = matches(&json!({"/p": glob}), &json!({"p": value}));
        (glob, value, found)
    });
    assert_eq!(found, table);
}

/// An argument that is not there never matches; one of another type than the test is for is no way
/// around a rule that asks or denies.
#[test]
fn value_that_cannot_be_judged_is_treated_strictly() {
    const NO: [bool; 3] = [false, false, false];
    const STRICT: [bool; 3] = [false, true, true];
    const ALL: [bool; 3] = [true, true, true];
    let glob = json!({"/p": "src/**"});
    for (input, expected) in [
        (json!({}), NO),
        (json!({"q": "src/a"}), NO),
        (json!({"p": null}), NO),
        (json!({"p": 7}), STRICT),
        (json!({"p": {"path": "lib/a"}}), STRICT),
        (json!({"p": []}), NO),
        (json!({"p": ["src/a", "src/b"]}), ALL),
        (json!({"p": ["lib/a", "src/b"]}), STRICT),
        (json!({"p": ["lib/a"]}), NO),
        (json!({"p": ["src/a", 7]}), STRICT),
        (json!({"p": [["lib/a"]]}), STRICT),
    ] {
        assert_eq!(matches(&glob, &input), expected, "{input}");
    }
    for (test, value, expected) in [
        (json!(1), json!(1.0), ALL),
        (json!(1.0), json!(1), ALL),
        (json!(1), json!(1.5), NO),
        (json!(1), json!("1"), NO),
        (json!(true), json!(true), ALL),
        (json!(null), json!(null), ALL),
        (json!("a/b"), json!("a/b"), ALL),
        (json!("a/b"), json!("./a/b"), NO),
        (json!({"a": [1]}), json!({"a": [1.0]}), ALL),
        (json!({"a": 1}), json!({"a": 1, "b": 2}), NO),
    ] {
        let test = json!({"/p": {"equals": test}});
        assert_eq!(matches(&test, &json!({"p": value})), expected, "{test}");
    }
}

#[test]
fn pointer_names_one_value() {
    let input = json!({
        "a/b": "x", "m~n": "x", "": "x", "list": ["y", {"k": "x"}], "01": "x", "o": {"p": {"": "x"}},
    });
    for (pointer, expected) in [
        ("/a~1b", true),
        ("/m~0n", true),
        ("/m~01n", false),
        ("/", true),
        ("/01", true),
        ("/list/1/k", true),
        ("/list/0", false),
        ("/list/01/k", false),
        ("/list/-", false),
        ("/o/p/", true),
        ("/o/q", false),
        ("/list/k", false),
    ] {
        let found = matches(&json!({pointer: {"equals": "x"}}), &input);
        assert_eq!(found, [expected; 3], "{pointer}");
    }
    // As the arguments of a call are parsed: escapes are resolved, and the last of two equal keys
    // counts, which is the one that the tool gets.
    let twice: Value = serde_json::from_str(r#"{"p": "src/a", "\u0070": "lib/a"}"#).unwrap();
    assert_eq!(matches(&json!({"/p": "src/**"}), &twice), [false; 3]);
    assert_eq!(matches(&json!({"/p": "lib/**"}), &twice), [true; 3]);
}

#[test]
fn unusable_part_of_a_rule_is_refused() {
    let long = "a".repeat(513);
    for (pattern, expected) in [
        ("", "the glob `` is empty"),
        ("../a", "the glob `../a` leaves the directory with `..`"),
        ("a/../b", "the glob `a/../b` leaves the directory with `..`"),
        ("/", "the glob `/` names nothing"),
        ("a[", "the glob `a[` unclosed character class; missing ']'"),
        (
            "{a/b,c}",
            "the glob `{a/b,c}` has a `/` inside braces; write two patterns instead",
        ),
    ] {
        let error = ArgumentGlob::new(pattern).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    let error = ArgumentGlob::new(&long).unwrap_err().to_string();
    assert!(error.ends_with("` has more than 512 bytes"), "{error}");
    let is_pattern = |error| matches!(error, RuleError::Pattern { .. });
    for name in ["", "a[", &long] {
        assert!(NameGlob::new(name).is_err_and(is_pattern), "{name}");
    }
    let deep = "/a".repeat(17);
    for pointer in [
        "",
        "a",
        "a/b",
        "/a~",
        "/a~2",
        "/~",
        &deep,
        &format!("/{long}"),
    ] {
        let error = ArgumentPointer::new(pointer).unwrap_err();
        assert!(matches!(error, RuleError::Pointer { .. }), "{pointer}");
    }
}

/// Time grows with the length of the arguments, and no worse.
#[test]
fn huge_argument_is_judged_in_linear_time() {
    for unit in ["a/", "../", "*", "\u{200b}", "/"] {
        let text = unit.repeat(1 << 20);
        let input = json!({"p": text});
        let began = Instant::now();
        matches(&json!({"/p": "**/a*b*c/**/{x,y}*/z"}), &input);
        let took = began.elapsed();
        assert!(took < Duration::from_secs(20), "{unit:?} took {took:?}");
    }
}
