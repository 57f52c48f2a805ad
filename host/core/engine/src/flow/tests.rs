use super::{
    FlowPolicy, FlowRequest, FlowRule,
    reader::{ClosedSchema, answer_schema},
    reference::{references, text_without_references, with_references, without_references},
};
use crate::policy::{NameGlob, RuleDecision};
use agent_host_types::{
    flow::{AnswerKind, ArgumentSources, FlowMode},
    id::CallId,
    tool::{Effect, ToolCall},
};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::{Value, json};

fn glob(text: &str) -> NameGlob {
    NameGlob::new(text).unwrap()
}

#[test]
fn network_and_servers_are_untrusted_unless_trusted() {
    let policy = FlowPolicy {
        trusted: vec![glob("http:intranet.example"), glob("mcp:*")],
        untrusted: vec![
            glob("dir:/workspace/vendor/**"),
            glob("mcp:mail"),
            glob("dir:/workspace/*/third"),
            glob("dir:/workspace/\\[id\\]"),
        ],
        ..FlowPolicy::default()
    };
    for (source, expected) in [
        ("http:intranet.example", false),
        ("http:intranet.example.evil.example", true),
        ("http:news.example", true),
        ("mcp:files", false),
        ("mcp:mail", true),
        ("dir:/workspace/a.md", false),
        ("dir:/workspace/vendor/a/b.md", true),
        ("dir:/workspace/vendor/", true),
        ("dir:/workspace/vendor", true),
        ("dir:/workspace/vendors/", false),
        ("dir:/workspace/app/third/a.md", true),
        ("dir:/workspace/app/third", true),
        ("dir:/workspace/app/thirds/a.md", false),
        ("dir:/workspace/[id]/a.md", true),
        ("dir:/workspace/i/a.md", false),
        ("history", true),
        ("tool:count", false),
        ("external:pay", true),
        ("unknown", true),
    ] {
        assert_eq!(policy.is_untrusted(source), expected, "{source}");
    }
}

/// `unknown` stands for any source, so what denies or asks about one holds for it.
#[test]
fn strict_rules_hold_for_unknown_sources() {
    let rule = |from: &str, decision| FlowRule {
        name: from.to_owned(),
        decision,
        from: glob(from),
        tools: vec![glob("*")],
        arguments: Vec::new(),
    };
    let policy = FlowPolicy {
        mode: FlowMode::Quarantine,
        rules: vec![
            rule("*", RuleDecision::Allow),
            rule("mcp:mail", RuleDecision::Deny),
        ],
        ..FlowPolicy::default()
    };
    for (source, expected) in [
        ("http:a.example", RuleDecision::Allow),
        ("mcp:mail", RuleDecision::Deny),
        ("unknown", RuleDecision::Deny),
    ] {
        let call = FlowRequest {
            tool: "act",
            effect: Effect::Effectful,
            destination: None,
            seen: &[source.to_owned()],
            references: &[],
        };
        let decided = policy.decide(&call).map(|ruling| ruling.decision);
        assert_eq!(decided, Some(expected), "{source}");
    }
}

/// The decision about a call of `act` with one value from a source.
fn decided(rules: &[FlowRule], pointer: &str) -> Option<RuleDecision> {
    let policy = FlowPolicy {
        mode: FlowMode::Quarantine,
        rules: rules.to_vec(),
        ..FlowPolicy::default()
    };
    let references = [ArgumentSources {
        pointer: pointer.to_owned(),
        reference: Some("@r1".to_owned()),
        sources: vec!["http:news.example".to_owned()],
    }];
    let call = FlowRequest {
        tool: "act",
        effect: Effect::Effectful,
        destination: None,
        seen: &[],
        references: &references,
    };
    policy.decide(&call).map(|ruling| ruling.decision)
}

/// Content is what no call is steered by; any other argument asks.
#[test]
fn value_from_an_untrusted_source_is_content_or_asks() {
    for (pointer, expected) in [
        ("/body", RuleDecision::Allow),
        ("/Text", RuleDecision::Allow),
        ("/parts/0", RuleDecision::Ask),
        ("/messages/0/content", RuleDecision::Allow),
        ("/content/0", RuleDecision::Allow),
        ("/to", RuleDecision::Ask),
        ("/body/url", RuleDecision::Ask),
        ("/path", RuleDecision::Ask),
        ("", RuleDecision::Ask),
    ] {
        assert_eq!(decided(&[], pointer), Some(expected), "{pointer}");
    }
}

/// A rule about an argument allows that one alone, and forbids whatever may be it.
#[test]
fn flow_rule_is_about_its_arguments() {
    use RuleDecision::{Allow, Ask, Deny};
    let rule = |decision| FlowRule {
        name: "flow.x".to_owned(),
        decision,
        from: glob("*"),
        tools: vec![glob("act")],
        arguments: vec!["/event/location".to_owned()],
    };
    for (pointer, allowed, denied) in [
        ("/event/location", Allow, Deny),
        ("/event/location/0", Allow, Deny),
        ("/event", Ask, Deny),
        ("/event/locations", Ask, Ask),
        ("/to", Ask, Ask),
    ] {
        assert_eq!(decided(&[rule(Allow)], pointer), Some(allowed), "{pointer}");
        assert_eq!(decided(&[rule(Deny)], pointer), Some(denied), "{pointer}");
    }
    // The model wrote all arguments after it has read the text.
    for (decision, expected) in [(Allow, Ask), (Deny, Deny)] {
        let policy = FlowPolicy {
            mode: FlowMode::Ask,
            rules: vec![rule(decision)],
            ..FlowPolicy::default()
        };
        let call = FlowRequest {
            tool: "act",
            effect: Effect::Idempotent,
            destination: None,
            seen: &["http:news.example".to_owned()],
            references: &[],
        };
        let ruling = policy.decide(&call).map(|ruling| ruling.decision);
        assert_eq!(ruling, Some(expected));
    }
}

fn rule() -> impl Strategy<Value = FlowRule> {
    let decision = prop_oneof![
        Just(RuleDecision::Allow),
        Just(RuleDecision::Ask),
        Just(RuleDecision::Deny)
    ];
    let from = prop_oneof![
        Just("http:*"),
        Just("http:news.example"),
        Just("mcp:*"),
        Just("*")
    ];
    let tool = prop_oneof![Just("act"), Just("a*"), Just("other")];
    let arguments = prop_oneof![
        Just(vec![]),
        Just(vec!["/body".to_owned()]),
        Just(vec!["/to".to_owned()])
    ];
    (decision, from, tool, arguments).prop_map(|(decision, from, tool, arguments)| FlowRule {
        name: "flow.x".to_owned(),
        decision,
        from: glob(from),
        tools: vec![glob(tool)],
        arguments,
    })
}

proptest! {
    /// No order of rules, and no further rule, allows what one denies.
    #[test]
    fn denial_of_a_flow_always_wins(mut rules in prop::collection::vec(rule(), 0..8), at in 0..8usize) {
        let strictest = decided(&rules, "/body");
        rules.reverse();
        prop_assert_eq!(decided(&rules, "/body"), strictest);
        let deny = FlowRule {
            name: "flow.deny".to_owned(),
            decision: RuleDecision::Deny,
            from: glob("http:news.*"),
            tools: vec![glob("act")],
            arguments: Vec::new(),
        };
        rules.insert(at.min(rules.len()), deny);
        prop_assert_eq!(decided(&rules, "/body"), Some(RuleDecision::Deny));
    }
}

#[test]
fn references_are_found_wherever_an_argument_has_one() {
    let input = json!({
        "a": {"$ref": "@r1"},
        "b": [{"c/d": {"$ref": "@r22", "path": "/x/0"}}],
        "e": {"$ref": "#/definitions/e"},
        "f": {"$ref": "@r1", "path": 1},
        "g": {"$ref": "@r1", "more": true},
        "seen": {"$ref": "@r3", "type": "json", "bytes": 3, "from": ["mcp:a"], "error": true},
        "h": {"$ref": "@r"},
        "i": "@r1",
    });
    let call = ToolCall::parse(CallId("c".into()), "t".into(), input.to_string());
    let found = references(&call).into_iter();
    let found: Vec<_> = found
        .map(|it| (it.pointer, it.reference, it.path))
        .collect();
    let expected = [
        ("/a", "@r1", ""),
        ("/b/0/c~1d", "@r22", "/x/0"),
        ("/seen", "@r3", ""),
    ];
    let expected = expected.map(|(at, name, path)| (at.into(), name.into(), path.into()));
    assert_eq!(found, expected);
}

#[test]
fn schema_takes_a_reference_in_each_place_of_a_value() {
    let schema = json!({
        "type": "object",
        "properties": {"to": {"type": "array", "items": {"type": "string"}}},
        "required": ["to"],
    });
    let reference = json!({
        "type": "object",
        "properties": {
            "$ref": {"type": "string", "pattern": "^@r[0-9]+$"}, "path": {"type": "string"},
        },
        "required": ["$ref"],
        "additionalProperties": false,
    });
    let items = json!({"anyOf": [{"type": "string"}, reference]});
    let to = json!({"anyOf": [{"type": "array", "items": items}, reference]});
    let expected = json!({"type": "object", "properties": {"to": to}, "required": ["to"]});
    assert_eq!(with_references(&schema), expected);
}

/// Known keywords bound the answers that fit; all others are left out.
#[test]
fn answer_schema_is_closed_or_refused() {
    let date = json!({"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"});
    let named = json!({"type": "string", "pattern": "^[a-z]+$", "maxLength": 20});
    let accepted = [
        (
            json!({"type": "boolean", "default": "x"}),
            json!({"type": "boolean"}),
            Some(vec![AnswerKind::Boolean]),
        ),
        (
            json!({"enum": ["a", 1]}),
            json!({"enum": ["a", 1]}),
            Some(vec![AnswerKind::Enum]),
        ),
        (
            json!({"type": "string", "format": "date"}),
            date.clone(),
            Some(vec![AnswerKind::Date]),
        ),
        (named.clone(), named.clone(), None),
        (
            json!({"type": "array", "items": {"type": "number"}, "maxItems": 3}),
            json!({"type": "array", "items": {"type": "number"}, "maxItems": 3}),
            Some(vec![AnswerKind::Number]),
        ),
        (
            json!({"type": "object", "properties": {
                "a": {"type": "string", "format": "date"}, "b": named,
            }}),
            json!({
                "type": "object",
                "properties": {"a": date, "b": named},
                "required": ["a", "b"],
                "additionalProperties": false,
            }),
            None,
        ),
        (
            json!({"type": "object", "properties": {"a": {"enum": [1]}, "b": {"type": "integer"}}}),
            json!({
                "type": "object",
                "properties": {"a": {"enum": [1]}, "b": {"type": "integer"}},
                "required": ["a", "b"],
                "additionalProperties": false,
            }),
            Some(vec![AnswerKind::Enum, AnswerKind::Number]),
        ),
    ];
    let asked = |schema: &Value| {
        let input = json!({ "schema": schema });
        let closed = answer_schema(input.as_object().unwrap());
        // The kinds without any of which it would be withheld; none if it is never shown.
        let kinds = |closed: &ClosedSchema| {
            let all = [
                AnswerKind::Boolean,
                AnswerKind::Date,
                AnswerKind::Enum,
                AnswerKind::Number,
            ];
            let withheld = all.into_iter().filter(|kind| !closed.is_shown(&[*kind]));
            closed.is_shown(&[]).then(|| withheld.collect::<Vec<_>>())
        };
        closed.map(|closed| (closed.schema.clone(), kinds(&closed)))
    };
    for (schema, expected, kinds) in accepted {
        assert_eq!(asked(&schema), Ok((expected, kinds)), "{schema}");
    }
    let deep = json!({"type": "array", "maxItems": 1, "items": {"type": "array", "maxItems": 1, "items":
        {"type": "array", "maxItems": 1, "items": {"type": "array", "maxItems": 1, "items": {"type": "null"}}}}});
    for schema in [
        json!({}),
        json!(true),
        json!({"type": "string"}),
        json!({"type": ["string", "null"]}),
        json!({"type": "string", "format": "email"}),
        json!({"type": "string", "pattern": ".*"}),
        json!({"type": "string", "pattern": ".*", "maxLength": 201}),
        json!({"type": "array", "items": {"type": "null"}}),
        json!({"anyOf": [{"type": "null"}]}),
        json!({"type": "object", "properties": {"a": {"type": "string"}}}),
        deep,
    ] {
        assert!(asked(&schema).is_err(), "{schema}");
    }
}

/// A reference that an agent's answer still has would name another result of its starter.
#[test]
fn answer_of_an_agent_has_no_reference() {
    let text = r#"See {"$ref": "@r1"}, and {"a": 1}."#.to_owned();
    let expected = r#"See (a value that is not shown), and {"a": 1}."#;
    assert_eq!(text_without_references(text), expected);
    let value = json!({"a": [{"$ref": "@r1", "path": "/x"}, {"$ref": "#/defs"}], "n": 1});
    let expected = json!({"a": ["(a value that is not shown)", {"$ref": "#/defs"}], "n": 1});
    assert_eq!(without_references(value), expected);
}
