//! Points 32 to 36: failures, retries, timeouts and cancellation.

use super::*;
use pretty_assertions::assert_eq;
use serde_json::json as value;

#[test]
fn f08_dependents_see_a_failure_as_a_marked_section() {
    let mut run = begin(
        "a: next = 'b'\n b: inputs = [{ facts = 'a.text' }, { code = 'a.error.code' }, { lit = \"'x'\" }]; next = 'c'\n c: message = 'a.output'",
    );
    started(&mut run);
    fail(&mut run, "a");
    let text = "[facts: failed]\nbroken: it broke\n\n[code]\nbroken\n\n[lit]\nx";
    assert_eq!(message(&mut run), text);
    ok(&mut run, "b", "x");
    assert_eq!(message(&mut run), "[a: failed]\nbroken: it broke");
}

#[test]
fn failed_loop_passes_the_results_before_the_failure() {
    let mut run = begin(
        "s: tool = 't'; next = 'e'\n e: foreach = 's.output'; next = 'z'\n z: inputs = [{ r = 'e.artifacts.results' }]",
    );
    started(&mut run);
    json(&mut run, "s", value!([1, 2]));
    started(&mut run);
    ok(&mut run, "e[0]", "r0");
    started(&mut run);
    fail(&mut run, "e[1]");
    assert_eq!(message(&mut run), "[r: failed]\nbroken: it broke\n[\"r0\"]");
}

#[test]
fn needs_success_skips_a_dependent_of_a_failure() {
    let mut run = begin(
        "a: next = 'b'\n b: next = 'c'; message = 'a.text'; needs = 'success'\n c: message = 'a.error'",
    );
    started(&mut run);
    fail(&mut run, "a");
    assert_eq!(run.take_skipped(), ["b".into(), "c".into()]);
    assert!(run.is_done());
    assert_eq!(run.outcome().end, WorkflowEnd::Completed);
}

#[test]
fn failed_value_is_never_the_input_of_a_tool_or_a_loop() {
    let mut run = begin(
        "a: next = ['t', 'l', 'e']\n t: tool = 't'; input = { q = 'a.text' }\n l: foreach = 'a.artifacts.k'\n e: tool = 't'; input = { q = 'a.error.code' }",
    );
    started(&mut run);
    fail(&mut run, "a");
    for node in ["t", "l"] {
        let error = run.output(node).unwrap().error.clone().unwrap();
        assert_eq!(error.code, "failed-input");
        assert!(
            error.message.contains("`a`, which failed with broken"),
            "{error}"
        );
    }
    let expected = value!({"q": "broken"});
    assert_eq!(start(&mut run).input.object(), expected.as_object());
}

#[test]
fn f09_abort_names_node_and_cause_and_cancels_all_at_once() {
    let mut run = begin(
        "ok: mode = 'parallel'\n bad: mode = 'parallel'; on-error = 'abort'; next = 'never'\n sib: mode = 'parallel'\n bg: mode = 'async'\n never: message = 'bad.text'\n sync1:\n sync2:",
    );
    assert_eq!(started(&mut run), ["bg", "bad", "ok", "sib", "sync1"]);
    ok(&mut run, "ok", "kept");
    fail(&mut run, "bad");
    assert_eq!(names(&run.take_cancelled()), ["bg", "sib", "sync1"]);
    assert_eq!(names(&run.take_cancelled()), Vec::<String>::new());
    assert_eq!(started(&mut run), Vec::<String>::new());
    assert!(!run.is_done(), "each of them still settles");
    for node in ["bg", "sib", "sync1"] {
        fail(&mut run, node);
    }
    assert!(run.is_done());
    let outcome = run.outcome();
    let failure = NodeFailure::new("broken", "it broke");
    let node = "bad".into();
    assert_eq!(outcome.end, WorkflowEnd::Aborted { node, failure });
    assert_eq!(outcome.outputs["ok"].text, "kept");
    assert_eq!(state(&run, "never"), NodeState::Pending);
    assert_eq!(state(&run, "sync2"), NodeState::Pending);
}

#[test]
fn retry_starts_again_with_a_doubled_wait() {
    let mut run =
        begin("a: retry = { times = 3, backoff-ms = 100 }; next = 'b'\n b: message = 'a.text'");
    let mut waits = Vec::new();
    for attempt in 1..=3 {
        let start = start(&mut run);
        waits.push((start.attempt, start.not_before_ms, start.is_resumed));
        assert_eq!(start.attempt, attempt);
        assert_eq!(try_fail(&mut run, "a"), Progress::Retry);
        assert_eq!(run.output("a"), None);
    }
    let last = start(&mut run);
    waits.push((last.attempt, last.not_before_ms, last.is_resumed));
    let expected = [(1, 0), (2, 100), (3, 200), (4, 400)];
    assert_eq!(
        waits,
        expected.map(|(attempt, wait)| (attempt, wait, false))
    );
    assert_eq!(try_fail(&mut run, "a"), Progress::Settled);
    assert_eq!(message(&mut run), "[a: failed]\nbroken: it broke");
}

#[test]
fn retry_that_succeeds_is_a_success() {
    let mut run = begin("a: retry = { times = 1 }\n b:");
    started(&mut run);
    assert_eq!(try_fail(&mut run, "a"), Progress::Retry);
    assert_eq!(started(&mut run), ["a"], "a sync node keeps its place");
    ok(&mut run, "a", "x");
    assert_eq!(state(&run, "a"), NodeState::Done);
}

#[test]
fn denial_and_cancellation_are_not_retried() {
    for code in ["execution-denied", "cancelled", "interrupted-unknown"] {
        let mut run = begin("a: retry = { times = 3 }");
        started(&mut run);
        let output = NodeOutput::of_failure("", NodeFailure::new(code, "no"));
        assert_eq!(run.settled(&name("a"), output), Ok(Progress::Settled));
    }
}

#[test]
fn retry_of_an_iteration_is_of_that_item() {
    let mut run = begin(
        "s: tool = 't'; next = 'e'\n e: retry = { times = 1 }; foreach = { over = 's.output', mode = 'parallel', at-once = 2 }",
    );
    started(&mut run);
    json(&mut run, "s", value!([0, 1, 2]));
    started(&mut run);
    assert_eq!(try_fail(&mut run, "e[1]"), Progress::Retry);
    let again = start(&mut run);
    assert_eq!((again.run, again.attempt), (name("e[1]"), 2));
    ok(&mut run, "e[1]", "r1");
    assert_eq!(started(&mut run), ["e[2]"]);
    ok(&mut run, "e[2]", "r2");
    ok(&mut run, "e[0]", "r0");
    assert_eq!(run.output("e").unwrap().text.matches('r').count(), 3);
}

#[test]
fn timeout_is_a_failure_with_its_code() {
    use agent_host_types::failure::{ToolErrorCode, ToolFailure};
    let mut run = begin("a: timeout-ms = 50; on-error = 'abort'");
    let start = start(&mut run);
    assert_eq!(
        start.node.timeout_ms.map(std::num::NonZeroU64::get),
        Some(50)
    );
    let failure = ToolFailure::new(ToolErrorCode::Timeout, "it took more than 50 ms");
    run.settled(&start.run, NodeOutput::of_failure("", failure))
        .unwrap();
    let WorkflowEnd::Aborted { failure, .. } = run.outcome().end else {
        panic!("{:?}", run.outcome().end)
    };
    assert_eq!(failure.code, "timeout");
}

#[test]
fn f14_tool_that_reports_failure_is_a_failure() {
    let mut run = begin("a: tool = 't'");
    started(&mut run);
    let result = ToolResultOutput::error_json(value!({"code": "trap", "message": "crashed"}));
    run.settled(&name("a"), NodeOutput::of_result("", None, result))
        .unwrap();
    let error = run.output("a").unwrap().error.clone().unwrap();
    assert_eq!(error, NodeFailure::new("trap", "crashed"));
}

#[test]
fn cancel_stops_everything() {
    let mut run = begin(
        "a: mode = 'async'\n b:\n c:\n w: mode = 'parallel'\n r: mode = 'parallel'; retry = { times = 9 }",
    );
    assert_eq!(started(&mut run), ["a", "r", "w", "b"]);
    run.waiting(&name("w")).unwrap();
    assert_eq!(try_fail(&mut run, "r"), Progress::Retry);
    run.cancel();
    assert_eq!(names(&run.take_cancelled()), ["a", "b", "w"]);
    assert_eq!(
        state(&run, "r"),
        NodeState::Failed,
        "it waited for an attempt"
    );
    for node in ["a", "b", "w"] {
        assert!(!run.is_done());
        fail(&mut run, node);
    }
    assert!(run.is_done());
    assert_eq!(run.outcome().end, WorkflowEnd::Cancelled);
    assert_eq!(started(&mut run), Vec::<String>::new());
}

#[test]
fn cancel_of_a_loop_keeps_its_results() {
    let mut run = begin("s: tool = 't'; next = 'e'\n e: foreach = 's.output'");
    started(&mut run);
    json(&mut run, "s", value!([0, 1, 2]));
    started(&mut run);
    ok(&mut run, "e[0]", "r0");
    started(&mut run);
    run.cancel();
    assert_eq!(names(&run.take_cancelled()), ["e[1]"]);
    ok(&mut run, "e[1]", "it ended first");
    assert!(run.is_done());
    let output = run.output("e").unwrap();
    assert_eq!(output.text, "r0\n\n---\n\nit ended first");
    let error = output.error.clone().unwrap();
    assert_eq!(
        (error.code.as_str(), error.failed_index),
        ("cancelled", Some(2))
    );
}
