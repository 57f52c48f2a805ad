//! Rules about calls: their resolved form, and every rule that is refused.

use super::Tree;
use crate::config::Overrides;
use agent_host_engine::policy::{
    ArgumentGlob, ArgumentPointer, ArgumentTest, CallRule, NameGlob, RuleDecision,
};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::fmt::Write as _;

#[test]
fn rules_are_resolved_in_order() {
    let toml = r#"
        [[rule]]
        decision = "deny"
        tool = ["write_file", "git*"]
        arguments = { "/path" = "src/**", "/n" = { equals = [1, { a = true }] } }
        where = "n > 2"
        agent = "review*"
        name = "sources"
        reason = "Not \u001b[2J these."

        [[rule]]
        decision = "allow"
        tool = "*"

        [rule.arguments]
        "/a~1b/0" = { equals = "x" }

        [[rule]]
        decision = "ask"
        tool = "read_file"
    "#;
    let config = Tree::new().load(toml, &Overrides::default()).unwrap();
    let name = |glob| NameGlob::new(glob).unwrap();
    let pointer = |text| ArgumentPointer::new(text).unwrap();
    let expected = [
        CallRule {
            name: "rule.sources".to_owned(),
            decision: RuleDecision::Deny,
            tools: vec![name("write_file"), name("git*")],
            agent: Some(name("review*")),
            arguments: vec![
                (pointer("/n"), ArgumentTest::Equals(json!([1, {"a": true}]))),
                (
                    pointer("/path"),
                    ArgumentTest::Glob(Box::new(ArgumentGlob::new("src/**").unwrap())),
                ),
            ],
            condition: Some("n > 2".parse().unwrap()),
            reason: Some("Not \u{fffd}[2J these.".to_owned()),
        },
        CallRule {
            name: "rule.1".to_owned(),
            decision: RuleDecision::Allow,
            tools: vec![name("*")],
            agent: None,
            arguments: vec![(pointer("/a~1b/0"), ArgumentTest::Equals(json!("x")))],
            condition: None,
            reason: None,
        },
        CallRule {
            name: "rule.2".to_owned(),
            decision: RuleDecision::Ask,
            tools: vec![name("read_file")],
            agent: None,
            arguments: Vec::new(),
            condition: None,
            reason: None,
        },
    ];
    assert_eq!(*config.rules, expected);
}

#[test]
fn unusable_rule_is_refused_with_its_name_and_key() {
    let tree = Tree::new();
    let rule = |lines: &str| format!("[[rule]]\ndecision = \"deny\"\n{lines}\n");
    let with = |arguments: &str| rule(&format!("tool = \"a\"\narguments = {{ {arguments} }}"));
    for (toml, key, expected) in [
        (
            rule("tool = []"),
            "rule[0].tool",
            "`tool` of rule.0 is neither a tool name nor a list of 1 to 100 names; write it like \"write_file\" or \
             [\"write_file\", \"github_*\"]; \"*\" is every tool",
        ),
        (
            rule("tool = [\"a\", 1]"),
            "rule[0].tool",
            "`tool` of rule.0 is neither a tool name nor a list of 1 to 100 names; write it like \"write_file\" or \
             [\"write_file\", \"github_*\"]; \"*\" is every tool",
        ),
        (
            rule("tool = \"write file\""),
            "rule[0].tool",
            "rule.0 is for the tool `write file`, which is not a valid tool name: names have 1 to 64 letters (A to \
             Z), digits, `_` and `-`; correct it",
        ),
        (
            rule("tool = \"a[\""),
            "rule[0].tool",
            "rule.0 is invalid: the glob `a[` unclosed character class; missing ']'; correct it",
        ),
        (
            rule("tool = \"a\"\nagent = \"\"\nname = \"x\""),
            "rule[0].agent",
            "rule.x is invalid: the glob `` is empty; correct it",
        ),
        (
            with("path = \"x\""),
            "rule[0].arguments.path",
            "rule.0 is invalid: `path` is not a JSON pointer to an argument: it must start with `/`; correct it",
        ),
        (
            with("\"/path\" = \"../x\""),
            "rule[0].arguments.\"/path\"",
            "rule.0 is invalid: the glob `../x` leaves the directory with `..`; correct it",
        ),
        (
            with("\"/path\" = 1"),
            "rule[0].arguments.\"/path\"",
            "the condition on `/path` of rule.0 is neither a glob nor a value; write it like \"src/**\" or { equals = 1 }",
        ),
        (
            with("\"/path\" = { equals = 1, glob = \"x\" }"),
            "rule[0].arguments.\"/path\"",
            "the condition on `/path` of rule.0 is neither a glob nor a value; write it like \"src/**\" or { equals = 1 }",
        ),
        (
            with("\"/day\" = { equals = [2026-11-23] }"),
            "rule[0].arguments.\"/day\"",
            "rule.0 compares an argument with a date, but JSON has no dates; write it in quotes",
        ),
        (
            rule("tool = \"a\"\nname = \"a b\""),
            "rule[0].name",
            "the rule name `a b` is invalid: names have 1 to 64 letters (A to Z), digits, `_` and `-`; change `name` \
             under [[rule]]",
        ),
        (
            rule("tool = \"a\"\nname = \"1\"") + &rule("tool = \"a\""),
            "rule[1].name",
            "two rules are named `1` (a rule without a name has its position, from 0), so a denial would not say \
             which one decided; rename one of them",
        ),
        (
            rule("tool = \"a\"\nreason = \" \""),
            "rule[0].reason",
            "`reason` of rule.0 is empty; say why the call is denied, or leave it out",
        ),
    ] {
        assert_eq!(
            tree.problem(&toml, &Overrides::default()),
            expected,
            "{toml}"
        );
        let error = tree.load(&toml, &Overrides::default()).unwrap_err();
        assert_eq!(error.problems()[0].key.as_deref(), Some(key), "{toml}");
    }
}

#[test]
fn rules_are_bounded_in_number() {
    let tree = Tree::new();
    let mut toml = String::new();
    for _ in 0..1_000 {
        write!(toml, "[[rule]]\ndecision = \"deny\"\ntool = \"a*\"\narguments = {{ \"/path\" = \"b/*.c\" }}\n").unwrap();
    }
    let config = tree.load(&toml, &Overrides::default()).unwrap();
    assert_eq!(config.rules.len(), 1_000);
    toml.push_str("[[rule]]\ndecision = \"deny\"\ntool = \"a\"\n");
    assert_eq!(
        tree.problem(&toml, &Overrides::default()),
        "there are 1001 rules, and the maximum is 1000; combine rules that differ only in their tools: `tool` takes \
         a list"
    );
}
