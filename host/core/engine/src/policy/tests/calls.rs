//! Rulings on calls.

use super::{rule::rule, short};
use crate::policy::{CallRequest, CallRule, RuleDecision, Ruling, decide_call};
use agent_host_types::{
    approval::{ApprovalRule, ArgumentPattern, RememberWhat},
    id::{Digest, json_digest},
    tool::{Approval, DecisionKind, Effect, RegisteredTool, ToolDefinition, ToolRuntime},
};
use pretty_assertions::assert_eq;
use serde_json::{Map, Value, json};
use std::sync::Arc;

pub(super) fn tool(effect: Effect, approval: Approval) -> RegisteredTool {
    RegisteredTool {
        definition: Arc::new(ToolDefinition {
            name: "send".into(),
            title: None,
            description: "Sends.".into(),
            input_schema: json!({"type": "object"}),
            output_schema: None,
            effect,
        }),
        effect,
        approval,
        decisions: DecisionKind::ALL.into(),
        runtime: ToolRuntime::Host,
        component: Some(Digest::of(b"code")),
        destination: None,
        summary: None,
    }
}

/// The ruling without arguments other than by their digest.
fn decide(
    tool: &RegisteredTool,
    input_digest: Digest,
    rules: &[CallRule],
    remembered: &[&ApprovalRule],
) -> Ruling {
    let call = CallRequest {
        tool,
        input: &Map::new(),
        input_digest,
        agent: None,
        facts: None,
    };
    decide_call(&call, rules, &[], remembered.iter().copied())
}

#[test]
fn call_ruling_follows_approval_and_effect() {
    let table = [
        (
            Effect::ReadOnly,
            Approval::ByEffect,
            "allow effect.read-only",
        ),
        (
            Effect::Idempotent,
            Approval::ByEffect,
            "ask effect.idempotent",
        ),
        (
            Effect::Effectful,
            Approval::ByEffect,
            "ask effect.effectful",
        ),
        (Effect::ReadOnly, Approval::Always, "ask approval.always"),
        (Effect::Effectful, Approval::Never, "allow approval.never"),
    ];
    for (effect, approval, expected) in table {
        let ruling = decide(&tool(effect, approval), json_digest(&json!({})), &[], &[]);
        assert_eq!(short(ruling), expected);
    }
}

/// A remembered approval covers the arguments that it names, and the tool exactly as it was.
#[test]
fn remembered_approval_covers_the_unchanged_tool() {
    let send = || tool(Effect::Effectful, Approval::Always);
    let (one, two) = (json_digest(&json!({"n": 1})), json_digest(&json!({"n": 2})));
    let this = ApprovalRule::new(&send(), RememberWhat::Arguments, one);
    let every = ApprovalRule::new(&send(), RememberWhat::Tool, one);
    assert_eq!(
        (this.to_string(), every.to_string()),
        (
            format!("calls of `send` with exactly the arguments {one}"),
            "every call of `send`, whatever its arguments".to_owned()
        )
    );
    let mut other_name = send();
    Arc::make_mut(&mut other_name.definition).name = "post".into();
    let mut other_words = send();
    Arc::make_mut(&mut other_words.definition).description =
        "Sends, as approved by the user.".into();
    let mut other_code = send();
    other_code.component = Some(Digest::of(b"other code"));
    let mut other_effect = send();
    other_effect.effect = Effect::Idempotent;
    let mut no_approval = send();
    no_approval.decisions = vec![DecisionKind::Reject, DecisionKind::Respond];
    let (allow, ask) = ("allow approval.remembered", "ask approval.always");
    let table = [
        (send(), &this, one, allow),
        (send(), &this, two, ask),
        (send(), &every, two, allow),
        (other_name, &every, one, ask),
        (other_words, &every, one, ask),
        (other_code, &every, one, ask),
        (other_effect, &every, one, ask),
        (no_approval, &every, one, ask),
    ];
    for (tool, rule, input, expected) in table {
        assert_eq!(
            short(decide(&tool, input, &[], &[rule])),
            expected,
            "{tool:?}"
        );
    }
}

/// The ruling on a call with these arguments, by a remembered pattern.
fn decide_by_pattern(
    tool: &RegisteredTool,
    input: &Value,
    rules: &[CallRule],
    pattern: (&str, &str),
) -> Ruling {
    let pattern = ArgumentPattern {
        pointer: pattern.0.to_owned(),
        glob: pattern.1.to_owned(),
    };
    let send = self::tool(Effect::Effectful, Approval::Always);
    let digest = json_digest(input);
    let remembered = ApprovalRule::new(&send, RememberWhat::Pattern(pattern), digest);
    let call = CallRequest {
        tool,
        input: input.as_object().unwrap(),
        input_digest: digest,
        agent: None,
        facts: None,
    };
    decide_call(&call, rules, &[], [&remembered])
}

/// A remembered pattern covers what its text says and nothing that a path could mean besides.
#[test]
fn remembered_pattern_covers_only_what_it_matches() {
    const SRC: (&str, &str) = ("/path", "src/**");
    let send = tool(Effect::Effectful, Approval::Always);
    let path = |path: &str| json!({"path": path, "content": "x"});
    let covered = [
        (SRC, path("src/a.txt")),
        (SRC, path("src/deep/b.txt")),
        (SRC, path("./src//./a.txt")),
        (SRC, json!({"path": ["src/a.txt", "src/b.txt"]})),
        (("/path", "/src/**"), path("/src/a.txt")),
        (("/path", "src/*.txt"), path("src/a.txt")),
        (("/to/path", "src/**"), json!({"to": path("src/a.txt")})),
    ];
    let others = [
        (SRC, path("src")),
        (SRC, path("src/../c.txt")),
        (SRC, path("src/deep/../a.txt")),
        (SRC, path("../src/a.txt")),
        (SRC, path("src/..")),
        (SRC, path("src/%2e%2E/c.txt")),
        (SRC, path("src/%2e./c.txt")),
        (SRC, path("src/ .. /c.txt")),
        (SRC, path("src\\..\\c.txt")),
        (SRC, path("src/x\\..\\..\\c.txt")),
        (SRC, path("/src/a.txt")),
        (SRC, path("//src/a.txt")),
        (SRC, path("~/src/a.txt")),
        (SRC, path("file:src/a.txt")),
        (SRC, path("https://src/a.txt")),
        (SRC, path("other/src/a.txt")),
        (SRC, path("srcs/a.txt")),
        (SRC, path("SRC/a.txt")),
        (SRC, path(" src/a.txt")),
        (SRC, path("")),
        (SRC, json!({"path": ["src/a.txt", "c.txt"]})),
        (SRC, json!({"path": [["src/a.txt"]]})),
        (SRC, json!({"path": []})),
        (SRC, json!({"path": null})),
        (SRC, json!({"path": 1})),
        (SRC, json!({"path": {"path": "src/a.txt"}})),
        (SRC, json!({"to": "src/a.txt"})),
        (SRC, json!({})),
        (("/path", "src/*.txt"), path("src/deep/b.txt")),
        (("/path", "/src/**"), path("src/a.txt")),
        (("/path", "/**"), path("src/a.txt")),
        (("/path", "**"), path("/etc/passwd")),
        (("/path", "../**"), path("../a.txt")),
        (("/path", "src/../**"), path("c.txt")),
        (("/path", "src/../**"), path("src/../c.txt")),
        // Neither of these can be read.
        (("/path", "["), path("[")),
        (("path", "src/**"), path("src/a.txt")),
    ];
    let expect = |pattern, input: &Value, expected| {
        let ruling = decide_by_pattern(&send, input, &[], pattern);
        assert_eq!(short(ruling), expected, "{pattern:?} {input}");
    };
    for (pattern, input) in &covered {
        expect(*pattern, input, "allow approval.remembered");
    }
    for (pattern, input) in &others {
        expect(*pattern, input, "ask approval.always");
    }
}

/// A remembered pattern covers the tool exactly as it was, and never overrides a denial.
#[test]
fn remembered_pattern_covers_the_unchanged_tool() {
    let send = || tool(Effect::Effectful, Approval::Always);
    let input = json!({"path": "src/a.txt"});
    let pattern = ("/path", "src/**");
    let mut other_name = send();
    Arc::make_mut(&mut other_name.definition).name = "post".into();
    let mut other_words = send();
    Arc::make_mut(&mut other_words.definition).description =
        "Sends, as approved by the user.".into();
    let mut other_code = send();
    other_code.component = Some(Digest::of(b"other code"));
    let mut other_effect = send();
    other_effect.effect = Effect::Idempotent;
    let mut no_approval = send();
    no_approval.decisions = vec![DecisionKind::Reject];
    for tool in [
        other_name,
        other_words,
        other_code,
        other_effect,
        no_approval,
    ] {
        let ruling = decide_by_pattern(&tool, &input, &[], pattern);
        assert_eq!(short(ruling), "ask approval.always", "{tool:?}");
    }
    let rules = [rule(
        RuleDecision::Deny,
        "send",
        &json!({"/path": "src/a.txt"}),
    )];
    let ruling = decide_by_pattern(&send(), &input, &rules, pattern);
    assert_eq!(short(ruling), "deny rule.0");
}

/// A rule goes before the approval and the effect of the tool. A remembered approval answers what a
/// rule asks about, and never overrides a denial.
#[test]
fn rule_goes_before_the_setting_of_the_tool() {
    use Approval::{Always, ByEffect, Never};
    use RuleDecision::{Allow, Ask, Deny};
    let digest = json_digest(&json!({}));
    let table = [
        (ByEffect, Allow, "allow rule.0", "allow rule.0"),
        (Always, Allow, "allow rule.0", "allow rule.0"),
        (Never, Ask, "ask rule.0", "allow approval.remembered"),
        (Never, Deny, "deny rule.0", "deny rule.0"),
    ];
    for (approval, decision, expected, remembered) in table {
        let tool = tool(Effect::Effectful, approval);
        let rules = [rule(decision, "send", &json!({}))];
        assert_eq!(short(decide(&tool, digest, &rules, &[])), expected);
        let every = ApprovalRule::new(&tool, RememberWhat::Tool, digest);
        assert_eq!(short(decide(&tool, digest, &rules, &[&every])), remembered);
    }
}
