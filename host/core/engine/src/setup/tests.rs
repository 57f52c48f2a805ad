use super::*;
use crate::{
    policy::{ArgumentGlob, ArgumentPointer, ArgumentTest, CallRule, NameGlob, RuleDecision},
    schema::AnswerSchema,
    turn::{Prompts, Settings, Timing, UntilEnd, UntilTool},
};
use agent_host_types::{
    budget::{Budgets, Price, UsdBudget},
    context::ContextLimits,
    turn::Durability,
};
use pretty_assertions::assert_eq;

/// Every setting is read back as it was written.
#[test]
fn settings_round_trip_with_every_field_set() {
    let argument = |pointer: &str, test| (ArgumentPointer::new(pointer).unwrap(), test);
    let glob = ArgumentGlob::new("src/**").unwrap();
    let rule = CallRule {
        name: "rule.src".into(),
        decision: RuleDecision::Ask,
        tools: vec![NameGlob::new("write_*").unwrap()],
        agent: Some(NameGlob::new("main").unwrap()),
        arguments: vec![
            argument("/a~1b~0c/0", ArgumentTest::Glob(Box::new(glob))),
            argument("/n", ArgumentTest::Equals(json!(1))),
        ],
        condition: Some("n < 5".parse().unwrap()),
        reason: Some("No.".into()),
    };
    let settings = Settings {
        budgets: Budgets {
            turns: 1,
            tokens: Some(2),
            usd: Some(UsdBudget {
                micros: 3,
                price: Price::default(),
            }),
            wall_ms: Some(4),
            tool_calls: Some(5),
            repeats: Some(6),
        },
        until_tool: Some(UntilTool {
            tools: vec!["done".into()],
            end: UntilEnd::AnyCall,
        }),
        output_schema: AnswerSchema::compile(&json!({"type": "string"}))
            .ok()
            .map(Arc::new),
        rules: [rule.clone()].into(),
        approved: [rule].into(),
        agent: Some("writer".into()),
        agent_depth: 2,
        max_agent_depth: 3,
        prompts: Prompts::Ask,
        takes_some_decisions: true,
        timing: Timing::InOrder,
        durability: Durability::Strict,
        resumes_without_progress: 4,
        approval_expiry_ms: Some(7),
        parallel_calls: 8,
        parallel_agents: 9,
        artifact_bytes: 10,
        accepts_changed_workflow: true,
        flow: Arc::default(),
        context: Some(ContextLimits::default()),
    };
    let json = json!(settings).to_string();
    let read: Settings = serde_json::from_str(&json).unwrap();
    assert_eq!(read, settings);
}

/// JSON that is no setup is refused, and nothing of it is guessed.
#[test]
fn unreadable_setup_is_refused_with_the_reason() {
    let digest = Digest::of(b"");
    let table = [
        (
            "{}".to_owned(),
            "the recorded setup of the loop cannot be read: missing field `agent` at line 1 column 2",
        ),
        (
            json!({"agent": digest, "agents": {}, "tools": {}, "more": 1}).to_string(),
            "the recorded setup of the loop cannot be read: unknown field `more`, expected one of `agent`, `agents`, `tools` at \
             line 1 column 101",
        ),
    ];
    for (json, expected) in table {
        let error = LoopSetup::parse(json.as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}
