//! Points 39 to 41: facts of the journal, and what is done after a crash.

use super::*;
use pretty_assertions::assert_eq;
use serde_json::json as value;

fn intended(node: &str) -> Fact {
    Fact::Intended {
        run: name(node),
        attempt: 1,
    }
}

fn settled(node: &str, value: Value) -> Fact {
    Fact::Settled {
        run: name(node),
        output: Box::new(NodeOutput::of_result(
            "",
            None,
            ToolResultOutput::json(value),
        )),
    }
}

fn skipped(node: &str) -> Fact {
    Fact::Skipped { node: node.into() }
}

fn replayed(lines: &str, facts: Vec<Fact>) -> Run {
    let mut run = begin(lines);
    for fact in facts {
        run.replay(fact).unwrap();
    }
    run
}

#[test]
fn settled_nodes_are_not_run_again() {
    let mut run = replayed(
        "a: tool = 'eff-t'; next = 'b'\n b: message = 'a.text'",
        vec![intended("a"), settled("a", value!(1))],
    );
    assert_eq!(run.resume(|_| false), []);
    assert_eq!(message(&mut run), "1");
}

#[test]
fn interrupted_nodes_run_again_unless_they_take_effect() {
    let lines = "r: tool = 'ro-t'; mode = 'parallel'\n i: tool = 'idem-t'; mode = 'parallel'\n e: tool = 'eff-t'; mode = 'parallel'; next = 'after'\n w: agent = 'eff-a'; mode = 'parallel'\n after: message = 'e.error.code'; mode = 'parallel'";
    let facts = ["e", "i", "r", "w"].map(intended).to_vec();
    let mut run = replayed(lines, facts);
    let failed = run.resume(|run| run.node.as_ref() == "w");
    assert_eq!(failed.len(), 1);
    let (run_of, output) = &failed[0];
    assert_eq!(run_of, &name("e"));
    assert_eq!(output.error.as_ref().unwrap().code, "interrupted-unknown");
    let starts = run.ready();
    let started: Vec<_> = starts
        .iter()
        .map(|start| (start.run.to_string(), start.attempt, start.is_resumed))
        .collect();
    let expected = [("after", false), ("i", false), ("r", false), ("w", true)];
    assert_eq!(
        started,
        expected.map(|(node, is_resumed)| (node.to_owned(), 1, is_resumed))
    );
    assert_eq!(starts[0].input.text(), Some("interrupted-unknown"));
}

#[test]
fn interrupted_effectful_node_follows_on_error() {
    let mut run = replayed(
        "e: tool = 'eff-t'; on-error = 'abort'; mode = 'parallel'\n r: mode = 'parallel'",
        vec![intended("e"), intended("r")],
    );
    let failed = run.resume(|_| false);
    let ended: Vec<_> = failed
        .iter()
        .map(|(run, output)| (run.to_string(), output.error.clone().unwrap().code))
        .collect();
    assert_eq!(ended, [("e".to_owned(), "interrupted-unknown".to_owned())]);
    assert!(matches!(run.outcome().end, WorkflowEnd::Aborted { .. }));
    assert!(run.is_done());
}

#[test]
fn loop_resumes_at_its_iteration() {
    let lines =
        "s: tool = 't'; next = 'e'\n e: foreach = 's.output'; message = 'loop.prior_results'";
    let list = value!([0, 1, 2]);
    let facts = vec![
        intended("s"),
        settled("s", list),
        intended("e[0]"),
        settled("e[0]", value!("r0")),
        intended("e[1]"),
    ];
    let mut run = replayed(lines, facts);
    assert_eq!(run.resume(|_| false), []);
    let start = start(&mut run);
    assert_eq!(
        (start.run.to_string(), start.input.text()),
        ("e[1]".into(), Some("[\"r0\"]"))
    );
}

#[test]
fn attempts_are_counted_over_a_crash() {
    let mut run = begin("a: retry = { times = 2 }");
    for attempt in 1..=2 {
        let run_of = name("a");
        run.replay(Fact::Intended {
            run: run_of,
            attempt,
        })
        .unwrap();
    }
    run.resume(|_| false);
    assert_eq!(start(&mut run).attempt, 2);
    assert_eq!(try_fail(&mut run, "a"), Progress::Retry);
    assert_eq!(start(&mut run).attempt, 3);
    assert_eq!(try_fail(&mut run, "a"), Progress::Settled);
}

#[test]
fn skips_that_the_journal_lacks_are_reported_again() {
    let lines = "a: next = [{ to = 'x', when = 'false' }, { to = 'y', when = 'false' }]\n x: message = 'a.text'\n y: message = 'a.text'";
    let facts = vec![intended("a"), settled("a", value!(1)), skipped("x")];
    let mut run = replayed(lines, facts);
    run.resume(|_| false);
    assert_eq!(run.take_skipped(), ["y".into()]);
    assert!(run.is_done());
}

#[test]
fn journal_of_another_definition_is_refused() {
    let cases = [
        (vec![intended("b")], "a start of `b`"),
        (vec![intended("q")], "a start of `q`"),
        (vec![intended("a[0]")], "a start of `a[0]`"),
        (vec![settled("a", value!(1))], "a result of `a`"),
        (vec![skipped("b")], "`b` was skipped"),
        (
            vec![intended("a"), settled("a", value!(1)), intended("a")],
            "a start of `a`",
        ),
    ];
    for (facts, words) in cases {
        let mut run = begin("a: next = 'b'\n b: message = 'a.text'");
        let error = facts
            .into_iter()
            .find_map(|fact| run.replay(fact).err())
            .unwrap();
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[test]
fn cancelled_siblings_of_an_abort_settle_on_resume() {
    let lines = "bad: on-error = 'abort'; mode = 'parallel'\n e: tool = 'eff-t'; mode = 'parallel'\n r: mode = 'parallel'";
    let mut run = begin(lines);
    for fact in ["bad", "e", "r"].map(intended) {
        run.replay(fact).unwrap();
    }
    let output = Box::new(NodeOutput::of_failure("", NodeFailure::new("broken", "x")));
    let run_of = name("bad");
    run.replay(Fact::Settled {
        run: run_of,
        output,
    })
    .unwrap();
    let failed = run.resume(|_| false);
    let codes: Vec<_> = failed
        .iter()
        .map(|(run, output)| (run.to_string(), output.error.clone().unwrap().code))
        .collect();
    let expected = [("e", "interrupted-unknown"), ("r", "cancelled")];
    assert_eq!(
        codes,
        expected.map(|(node, code)| (node.to_owned(), code.to_owned()))
    );
    assert!(run.is_done());
}
