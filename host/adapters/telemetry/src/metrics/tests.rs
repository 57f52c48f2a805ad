//! Tests of metrics: bounds of names, the text, and the events that count.

use super::{Gauge, MAX_NAMES, Metrics, names::SeenNames};
use agent_host_engine::observer::Observer;
use agent_host_types::{
    accounting::Accounting,
    event::{EVENT_VERSION, Event, EventRecord},
    id::{CallId, Digest, SessionId},
    output::ToolResultOutput,
    tool::Effect,
};
use pretty_assertions::assert_eq;
use serde_json::Map;
use std::{sync::Arc, time::Duration};

fn record(observer: &dyn Observer, session: SessionId, event: Event) {
    observer.recorded(&Arc::new(EventRecord {
        v: EVENT_VERSION,
        session,
        seq: 0,
        at_ms: 1_000,
        event,
    }));
}

/// Records the whole of a call.
fn call(observer: &dyn Observer, session: SessionId, id: &str, tool: &str, effect: Effect) {
    let call_id = CallId(id.to_owned());
    let intended = Event::CallIntended {
        call_id: call_id.clone(),
        tool: tool.to_owned(),
        input: Map::new().into(),
        input_digest: Digest::of(b""),
        effect,
        idempotency_key: String::new(),
        rule: None,
        path: Vec::new(),
    };
    record(observer, session, intended);
    record(observer, session, settled(call_id, tool));
}

fn settled(call_id: CallId, tool: &str) -> Event {
    Event::CallSettled {
        call_id,
        tool: tool.to_owned(),
        output: ToolResultOutput::Text("done".to_owned()),
        whole: None,
        child: None,
        accounting: Accounting {
            wall_us: 30_000,
            ..Accounting::default()
        },
        audit: Vec::new(),
        rule: None,
        path: Vec::new(),
        labels: Vec::new(),
        reference: None,
        tape: None,
    }
}

/// The lines of a metric, without its head.
fn lines(metrics: &Metrics, name: &str) -> Vec<String> {
    let text = metrics.text(&[]);
    let lines = text.lines().filter(|line| line.starts_with(name));
    let mut lines: Vec<String> = lines.map(str::to_owned).collect();
    lines.sort();
    lines
}

#[test]
fn calls_are_counted_by_tool_effect_and_outcome() {
    let metrics = Metrics::new("tests");
    let (observer, session) = (metrics.observer(None), SessionId::new());
    call(observer.as_ref(), session, "a", "read", Effect::ReadOnly);
    call(observer.as_ref(), session, "b", "read", Effect::ReadOnly);
    call(
        observer.as_ref(),
        session,
        "c",
        "wr\"ite",
        Effect::Effectful,
    );
    // A call that did not run: nothing tells of an effect.
    record(
        observer.as_ref(),
        session,
        settled(CallId("d".to_owned()), "read"),
    );
    assert_eq!(
        lines(&metrics, "agent_host_tool_calls_total"),
        [
            r#"agent_host_tool_calls_total{agent_host_effect="effectful",agent_host_outcome="success",gen_ai_tool_name="wr\"ite"} 1"#,
            r#"agent_host_tool_calls_total{agent_host_effect="none",agent_host_outcome="success",gen_ai_tool_name="read"} 1"#,
            r#"agent_host_tool_calls_total{agent_host_effect="read-only",agent_host_outcome="success",gen_ai_tool_name="read"} 2"#,
        ]
    );
    let seconds = lines(&metrics, "agent_host_tool_duration_seconds_");
    let of_read = |line: &&String| line.contains("gen_ai_tool_name=\"read\"");
    let seconds: Vec<&str> = seconds.iter().filter(of_read).map(String::as_str).collect();
    assert!(seconds.contains(
        &r#"agent_host_tool_duration_seconds_bucket{gen_ai_tool_name="read",le="0.02"} 0"#
    ));
    assert!(seconds.contains(
        &r#"agent_host_tool_duration_seconds_bucket{gen_ai_tool_name="read",le="+Inf"} 3"#
    ));
    assert!(
        seconds.contains(&r#"agent_host_tool_duration_seconds_count{gen_ai_tool_name="read"} 3"#)
    );
}

/// A server that invents tools adds no time series beyond the bound.
#[test]
fn names_beyond_the_bound_share_one_value() {
    let metrics = Metrics::new("tests");
    let (observer, session) = (metrics.observer(None), SessionId::new());
    for number in 0..MAX_NAMES * 3 {
        let tool = format!("tool_{number}");
        call(observer.as_ref(), session, &tool, &tool, Effect::ReadOnly);
    }
    let calls = lines(&metrics, "agent_host_tool_calls_total");
    assert_eq!(calls.len(), MAX_NAMES + 1);
    let other = calls.iter().find(|line| line.contains("(other)")).unwrap();
    assert!(other.ends_with(&format!(" {}", MAX_NAMES * 2)), "{other}");

    let names = SeenNames::new(2);
    let long = "a".repeat(129);
    let values = ["a", &long, "b", "c", "a"].map(|name| names.value(name));
    assert_eq!(values, ["a", "(other)", "b", "(other)", "a"]);
}

#[test]
fn barriers_and_gauges_are_in_the_text() {
    let metrics = Metrics::new("tests");
    let observer = metrics.observer(None);
    observer.durable_after(Duration::from_micros(700));
    observer.durable_after(Duration::from_millis(4));
    let text = metrics.text(&[Gauge {
        name: "agent_host_sessions",
        help: "Sessions by state.",
        label: Some("state"),
        values: vec![("done".to_owned(), 2), ("running".to_owned(), 1)],
    }]);
    for line in [
        "# TYPE agent_host_journal_barrier_duration_seconds histogram",
        "agent_host_journal_barrier_duration_seconds_bucket{le=\"0.0005\"} 0",
        "agent_host_journal_barrier_duration_seconds_bucket{le=\"0.001\"} 1",
        "agent_host_journal_barrier_duration_seconds_bucket{le=\"0.005\"} 2",
        "agent_host_journal_barrier_duration_seconds_sum 0.0047",
        "# HELP agent_host_sessions Sessions by state.",
        "# TYPE agent_host_sessions gauge",
        "agent_host_sessions{state=\"done\"} 2",
        "agent_host_sessions{state=\"running\"} 1",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
}
