//! Points 3 and 15 to 19: modes, order and joins.

use super::*;
use pretty_assertions::assert_eq;

#[test]
fn f05_f06_wave_starts_async_then_parallel_then_one_sync() {
    let mut run = begin(
        "s2:\n s1:\n p2: mode = 'parallel'\n p1: mode = 'parallel'\n a2: mode = 'async'\n a1: mode = 'async'",
    );
    assert_eq!(started(&mut run), ["a1", "a2", "p1", "p2", "s1"]);
    assert_eq!(started(&mut run), Vec::<String>::new());
    ok(&mut run, "p1", "x");
    assert_eq!(started(&mut run), Vec::<String>::new());
    ok(&mut run, "s1", "x");
    assert_eq!(started(&mut run), ["s2"]);
    for node in ["s2", "p2", "a1"] {
        ok(&mut run, node, "x");
    }
    assert!(!run.is_done(), "an async node is outstanding");
    ok(&mut run, "a2", "x");
    assert!(run.is_done());
    assert_eq!(run.outcome().end, WorkflowEnd::Completed);
}

#[test]
fn f04_join_of_a_diamond_runs_once() {
    let mut run = begin(
        "a: next = ['b', 'c']\n b: mode = 'parallel'; next = 'd'; message = 'a.text'\n c: mode = 'parallel'; next = 'd'; message = 'a.text'\n d: inputs = [{ b = 'b.text' }, { c = 'c.text' }]",
    );
    assert_eq!(started(&mut run), ["a"]);
    ok(&mut run, "a", "1");
    assert_eq!(started(&mut run), ["b", "c"]);
    ok(&mut run, "c", "3");
    assert_eq!(started(&mut run), Vec::<String>::new());
    ok(&mut run, "b", "2");
    assert_eq!(message(&mut run), "[b]\n2\n\n[c]\n3");
    assert_eq!(started(&mut run), Vec::<String>::new());
    ok(&mut run, "d", "4");
    assert!(run.is_done());
}

#[test]
fn f07_async_lets_others_continue_and_dependents_wait() {
    let mut run = begin(
        "bg: mode = 'async'; next = 'after'\n one: next = 'two'\n two: message = 'one.text'\n after: message = 'bg.text'",
    );
    assert_eq!(started(&mut run), ["bg", "one"]);
    ok(&mut run, "one", "x");
    assert_eq!(started(&mut run), ["two"]);
    ok(&mut run, "two", "x");
    assert_eq!(started(&mut run), Vec::<String>::new());
    ok(&mut run, "bg", "late");
    assert_eq!(message(&mut run), "late");
}

#[test]
fn node_need_not_wait_for_a_slow_sibling_of_its_predecessor() {
    let mut run = begin(
        "slow: mode = 'parallel'\n fast: mode = 'parallel'; next = 'then'\n then: mode = 'parallel'; message = 'fast.text'",
    );
    assert_eq!(started(&mut run), ["fast", "slow"]);
    ok(&mut run, "fast", "x");
    assert_eq!(started(&mut run), ["then"]);
}

#[test]
fn sync_nodes_of_different_branches_never_overlap() {
    let mut run = begin("p: mode = 'parallel'; next = 'a'\n a: message = 'p.text'\n b:\n c:");
    assert_eq!(started(&mut run), ["p", "b"]);
    ok(&mut run, "p", "x");
    assert_eq!(started(&mut run), Vec::<String>::new(), "b is under way");
    ok(&mut run, "b", "x");
    assert_eq!(started(&mut run), ["a"], "ties are broken by id");
    ok(&mut run, "a", "x");
    assert_eq!(started(&mut run), ["c"]);
}

#[test]
fn report_about_a_node_that_is_not_under_way_is_refused() {
    let mut run = begin("a: next = 'b'\n b: message = 'a.text'");
    let output = || NodeOutput::of_text("", None, "x");
    for node in ["a", "b", "missing", "a[0]"] {
        let refused = run.settled(&name(node), output());
        assert_eq!(refused, Err(RunError::NotStarted(name(node))));
    }
    assert_eq!(started(&mut run), ["a"]);
    ok(&mut run, "a", "x");
    assert!(run.settled(&name("a"), output()).is_err());
    assert!(run.waiting(&name("a")).is_err());
    assert!(run.decided(&name("b")).is_err());
}

#[test]
fn states_of_nodes_follow_the_run() {
    use NodeState::{Done, Failed, Pending, Running, Skipped, Waiting};
    let mut run = begin(
        "a: next = ['b', { to = 'c', when = 'false' }]\n b: message = 'a.text'; needs = 'success'\n c: message = 'a.text'",
    );
    let all = |run: &Run| states(run).into_iter().map(|(_, s)| s).collect::<Vec<_>>();
    assert_eq!(all(&run), [Pending, Pending, Pending]);
    started(&mut run);
    assert_eq!(all(&run), [Running, Pending, Pending]);
    run.waiting(&name("a")).unwrap();
    assert_eq!(all(&run), [Waiting, Pending, Pending]);
    run.decided(&name("a")).unwrap();
    started(&mut run);
    ok(&mut run, "a", "x");
    assert_eq!(all(&run), [Done, Pending, Skipped]);
    started(&mut run);
    fail(&mut run, "b");
    assert_eq!(all(&run), [Done, Failed, Skipped]);
    assert_eq!(run.take_skipped(), ["c".into()]);
    assert_eq!(run.take_skipped(), Vec::<Arc<str>>::new());
}
