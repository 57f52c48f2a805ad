//! Text that may go to its audience alone: what labels it, and which calls are denied or limited.

use super::{super::harness::*, allowed, labelled, with_reader};
use crate::{
    flow::{AudienceRule, FlowPolicy, FlowRule, reader::READ_QUARANTINED},
    policy::{NameGlob, RuleDecision},
    tool::CallReport,
};
use agent_host_types::{
    audit::{AuditRequest, FileAction},
    flow::FlowMode,
    output::ToolResultOutput,
    tool::{Approval, Effect},
    turn::AgentInput,
};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::sync::Arc;

/// The source of private files, as results name it.
const PRIVATE: &str = "dir:/workspace/private/*";

/// That of the file, which is named as well where it is untrusted.
const PLAN: &str = "dir:/workspace/private/plan.md";

/// `read` reads a private file, which only the server `crm` may get; `fetch` sends requests.
fn bench(mode: FlowMode, untrusted: &[&str]) -> Bench {
    let read = tool("read", Effect::ReadOnly, Approval::Never).ends(|_| {
        let path = "/workspace/private/plan.md".to_owned();
        let request = AuditRequest::file(FileAction::Read, path);
        CallReport {
            audit: vec![allowed(request)],
            ..CallReport::of(ToolResultOutput::json(json!({"budget": 7})))
        }
        .into()
    });
    let never = |name| tool(name, Effect::ReadOnly, Approval::Never);
    let tools = vec![
        read,
        never("crm").goes_to("mcp:crm"),
        never("mail").goes_to("mcp:mail"),
        never("outside"),
        never("fetch"),
    ];
    let mut bench = Bench::with(vec![], tools);
    let agent = &mut bench.agent;
    let mut tools = (*agent.tools).clone();
    tools.run_outside(|name| name == "outside");
    agent.tools = Arc::new(tools);
    let glob = |text: &str| NameGlob::new(text).unwrap();
    agent.settings.flow = Arc::new(FlowPolicy {
        mode,
        untrusted: untrusted.iter().map(|text| glob(text)).collect(),
        // No rule lets text go beyond its audience.
        rules: vec![FlowRule {
            name: "flow.all".to_owned(),
            decision: RuleDecision::Allow,
            from: glob("*"),
            tools: vec![glob("*")],
            arguments: Vec::new(),
        }],
        audiences: vec![AudienceRule {
            from: glob("dir:/workspace/private/*"),
            to: vec![glob("mcp:crm"), glob("http:crm.example")],
        }],
        ..FlowPolicy::default()
    });
    bench
}

/// Makes the calls of one reply.
async fn next(bench: &mut Bench, next: &[(&str, &str, &str)]) {
    bench.replies(calls(next));
    match bench.session.state().message_count() {
        0 => bench.say("go").await,
        _ => bench.turn(AgentInput::Continue).await,
    };
}

fn beyond(destination: &str) -> ToolResultOutput {
    denied(&format!(
        "Text from {PRIVATE} must not go to {destination} (flow.audience)"
    ))
}

/// The places that a call which ran could send to.
fn reach(bench: &Bench, call: &str) -> Vec<&'static str> {
    let ran = bench.ran.invocations.lock().unwrap();
    let ran = ran.iter().find(|ran| ran.call_id.0 == call).unwrap();
    let all = [
        "http:crm.example",
        "http:crm.example:8443",
        "http:evil.example",
        "dir:/workspace/a",
    ];
    let admitted = all.into_iter();
    admitted
        .filter(|to| ran.flow.audience.refusal(to).is_none())
        .collect()
}

/// Once the model has read the text, each call may hold it; the text itself is trusted, and seen.
#[tokio::test]
async fn text_with_an_audience_limits_the_calls_after_it() {
    let mut bench = bench(FlowMode::Ask, &[]);
    next(
        &mut bench,
        &[("m", "mail", ""), ("f", "fetch", ""), ("r", "read", "")],
    )
    .await;
    assert_eq!(reach(&bench, "f").len(), 4);
    assert_eq!(labelled(&bench)[2], (vec![PRIVATE.to_owned()], None));
    let after = [
        ("m2", "mail", ""),
        ("c", "crm", ""),
        ("o", "outside", ""),
        ("f2", "fetch", ""),
    ];
    next(&mut bench, &after).await;
    let expected = [
        ("m2", beyond("mcp:mail")),
        ("c", text("crm {}")),
        ("o", beyond("external:outside")),
        ("f2", text("fetch {}")),
    ];
    assert_eq!(bench.results(), pairs(expected));
    assert_eq!(reach(&bench, "f2"), ["http:crm.example"]);
}

#[tokio::test]
async fn audience_counts_where_flows_are_decided() {
    let cases = [
        (FlowMode::Off, true),
        (FlowMode::Observe, true),
        (FlowMode::Ask, false),
        (FlowMode::Quarantine, false),
    ];
    for (mode, runs) in cases {
        let mut bench = bench(mode, &[]);
        next(&mut bench, &[("r", "read", "")]).await;
        next(&mut bench, &[("m", "mail", "")]).await;
        assert_eq!(bench.ran() == ["r", "m"], runs, "{mode}");
    }
}

/// Of text that the model has not seen, only the calls that it is handed on to are limited.
#[tokio::test]
async fn reference_to_text_with_an_audience_goes_to_it_alone() {
    let mut bench = bench(FlowMode::Quarantine, &["dir:/workspace/private/*"]);
    next(&mut bench, &[("r", "read", "")]).await;
    let handed_on = r#"{"body": {"$ref": "@r1"}}"#;
    let after = [
        ("m", "mail", handed_on),
        ("m2", "mail", ""),
        ("c", "crm", handed_on),
        ("f", "fetch", handed_on),
        ("f2", "fetch", ""),
    ];
    next(&mut bench, &after).await;
    assert_eq!(bench.results()[0].1, beyond("mcp:mail"));
    assert_eq!(bench.ran(), ["r", "m2", "c", "f", "f2"]);
    assert_eq!(reach(&bench, "f"), ["http:crm.example"]);
    assert_eq!(reach(&bench, "f2").len(), 4);
}

/// An answer of the reader that says no more than its schema allows is trusted, and still of the text.
#[tokio::test]
async fn closed_answer_keeps_the_audience_of_its_text() {
    let mut bench = bench(FlowMode::Quarantine, &["dir:/workspace/private/*"]);
    next(&mut bench, &[("r", "read", "")]).await;
    let mut bench = with_reader(bench, vec![]);
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let value = json!({"$ref": "@r1"});
    let input = json!({"value": value, "question": "How many?", "schema": schema}).to_string();
    bench.replies(calls(&[("q", READ_QUARANTINED, &input)]));
    bench.replies(says(r#"{"n": 7}"#));
    bench.turn(AgentInput::Continue).await;
    assert_eq!(labelled(&bench)[1].0, [PRIVATE, PLAN]);
}

/// A directory and the memory have the audience of the text that may go there, and
/// of several audiences of one source all hold.
#[test]
fn kept_text_has_the_audience_of_what_it_is_from() {
    let glob = |text: &str| NameGlob::new(text).unwrap();
    let rule = |from: &str, to: &[&str]| AudienceRule {
        from: glob(from),
        to: to.iter().map(|text| glob(text)).collect(),
    };
    let policy = Arc::new(FlowPolicy {
        mode: FlowMode::Ask,
        audiences: vec![
            rule("dir:/private", &["mcp:crm", "dir:/out/**", "memory"]),
            rule("mcp:mail", &["mcp:crm", "http:a.example"]),
            rule("mcp:*", &["mcp:*"]),
        ],
        ..FlowPolicy::default()
    });
    let cases = [
        ("dir:/private/a", "mcp:crm", true),
        ("dir:/private", "mcp:mail", false),
        ("dir:/privates/a", "mcp:mail", true),
        ("dir:/private/a", "dir:/out", true),
        ("dir:/private/a", "dir:/outer", false),
        ("dir:/out/x", "mcp:crm", true),
        ("dir:/out/x", "http:a.example", false),
        ("memory", "http:a.example", false),
        ("mcp:mail", "mcp:crm", true),
        ("mcp:mail", "http:a.example", false),
        ("mcp:mail", "mcp:mail", true),
        ("unknown", "http:a.example", false),
        ("history", "http:a.example", false),
    ];
    for (source, destination, admits) in cases {
        let audience = policy.audience(&[source.to_owned()]);
        assert_eq!(
            audience.refusal(destination).is_none(),
            admits,
            "{source} {destination}"
        );
    }
}
