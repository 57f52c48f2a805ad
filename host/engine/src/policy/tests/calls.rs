//! Rulings on calls.

use super::{rule::rule, short};
use crate::policy::{CallRequest, CallRule, RuleDecision, Ruling, decide_call};
use agent_host_types::{
    approval::{ApprovalRule, RememberWhat},
    id::{Digest, json_digest},
    tool::{Approval, DecisionKind, Effect, RegisteredTool, ToolDefinition, ToolRuntime},
};
use pretty_assertions::assert_eq;
use serde_json::{Map, json};

pub(super) fn tool(effect: Effect, approval: Approval) -> RegisteredTool {
    RegisteredTool {
        definition: ToolDefinition {
            name: "send".into(),
            title: None,
            description: "Sends.".into(),
            input_schema: json!({"type": "object"}),
            output_schema: None,
            effect,
        },
        effect,
        approval,
        decisions: DecisionKind::ALL.into(),
        runtime: ToolRuntime::Host,
        component: Some(Digest::of(b"code")),
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
    other_name.definition.name = "post".into();
    let mut other_words = send();
    other_words.definition.description = "Sends, as approved by the user.".into();
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
