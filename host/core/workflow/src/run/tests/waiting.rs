//! Point 42: nodes that wait for the user.

use super::*;
use pretty_assertions::assert_eq;
use serde_json::json as value;

#[test]
fn others_continue_while_a_sync_node_waits() {
    let mut run = begin("a: next = 'after'\n b:\n after: message = 'a.text'");
    assert_eq!(started(&mut run), ["a"]);
    run.waiting(&name("a")).unwrap();
    assert_eq!(started(&mut run), ["b"]);
    run.decided(&name("a")).unwrap();
    assert_eq!(
        started(&mut run),
        Vec::<String>::new(),
        "one sync node at a time"
    );
    ok(&mut run, "b", "x");
    let again = start(&mut run);
    assert_eq!(
        (again.run, again.attempt, again.is_resumed),
        (name("a"), 1, true)
    );
    ok(&mut run, "a", "x");
    assert_eq!(started(&mut run), ["after"]);
}

#[test]
fn node_may_wait_several_times() {
    let mut run = begin("a:");
    for cycle in 0..3 {
        let start = start(&mut run);
        assert_eq!(start.is_resumed, cycle > 0);
        run.waiting(&start.run).unwrap();
        assert!(!run.is_done());
        run.decided(&start.run).unwrap();
        assert!(run.decided(&start.run).is_err(), "a decision is taken once");
    }
    started(&mut run);
    ok(&mut run, "a", "x");
    assert!(run.is_done());
}

#[test]
fn waiting_node_may_settle_without_running_again() {
    let mut run = begin("a:");
    started(&mut run);
    run.waiting(&name("a")).unwrap();
    fail(&mut run, "a");
    assert!(run.is_done());
}

#[test]
fn waiting_iterations_count_against_the_bound() {
    let mut run = begin(
        "s: tool = 't'; next = 'e'\n e: foreach = { over = 's.output', mode = 'parallel', at-once = 2 }",
    );
    started(&mut run);
    json(&mut run, "s", value!([0, 1, 2, 3]));
    assert_eq!(started(&mut run), ["e[0]", "e[1]"]);
    run.waiting(&name("e[0]")).unwrap();
    assert_eq!(state(&run, "e"), NodeState::Running);
    ok(&mut run, "e[1]", "x");
    assert_eq!(started(&mut run), ["e[2]"]);
    run.waiting(&name("e[2]")).unwrap();
    assert_eq!(state(&run, "e"), NodeState::Waiting);
    assert_eq!(started(&mut run), Vec::<String>::new());
    run.decided(&name("e[0]")).unwrap();
    assert_eq!(started(&mut run), ["e[0]"]);
}

#[test]
fn waiting_nodes_are_cancelled_by_an_abort() {
    let mut run = begin("w: mode = 'parallel'\n d: mode = 'parallel'\n x: on-error = 'abort'");
    started(&mut run);
    run.waiting(&name("w")).unwrap();
    run.waiting(&name("d")).unwrap();
    run.decided(&name("d")).unwrap();
    fail(&mut run, "x");
    let cancelled = run.take_cancelled();
    assert_eq!(names(&cancelled), ["d", "w"], "calls of both are open");
    assert!(run.ready().is_empty());
    for run_of in &cancelled {
        assert!(!run.is_done());
        fail(&mut run, &run_of.to_string());
    }
    assert!(run.is_done());
}
