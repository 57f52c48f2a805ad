//! Points 25 to 31: loops.

use super::*;
use pretty_assertions::assert_eq;
use serde_json::json as value;

/// Starts a run whose node `each` loops over the list that `src` returns.
fn begin_each(keys: &str, list: Value) -> Run {
    let mut run = begin(&format!(
        "src: tool = 't'; next = 'each'\n each: foreach = 'src.output'; {keys}"
    ));
    started(&mut run);
    json(&mut run, "src", list);
    run
}

fn parallel(at_once: u32) -> String {
    format!("foreach = {{ over = 'src.output', mode = 'parallel', at-once = {at_once} }}")
}

fn begin_parallel(at_once: u32, keys: &str, list: Value) -> Run {
    let foreach = parallel(at_once);
    let mut run = begin(&format!(
        "src: tool = 't'; next = 'each'\n each: {foreach}; {keys}"
    ));
    started(&mut run);
    json(&mut run, "src", list);
    run
}

/// Returns text, `artifacts.results`, `metadata`, and code and index of the failure.
fn result(run: &Run) -> (String, Value, Value, Option<(String, Option<u32>)>) {
    let output = run.output("each").unwrap();
    let results = value!(output.artifacts.get("results"));
    let error = output.error.as_ref();
    let error = error.map(|error| (error.code.clone(), error.failed_index));
    (output.text.clone(), results, value!(output.metadata), error)
}

#[test]
fn f11_nothing_is_success_with_zero_iterations() {
    for list in [value!([]), value!(null)] {
        let run = begin_each("", list);
        assert!(run.is_done());
        assert_eq!(
            result(&run),
            (String::new(), value!([]), value!({"iterations": 0}), None)
        );
    }
    let mut run = begin("src: next = 'each'\n each: foreach = 'src.artifacts.missing'");
    started(&mut run);
    ok(&mut run, "src", "x");
    assert_eq!(state(&run, "each"), NodeState::Done);
}

#[test]
fn foreach_over_another_value_fails() {
    for list in [value!({"a": 1}), value!(3), value!("text"), value!(true)] {
        let run = begin_each("", list);
        assert!(run.is_done());
        let error = run.output("each").unwrap().error.clone().unwrap();
        assert_eq!(error.code, "not-a-list");
    }
}

#[test]
fn iterations_run_in_order_with_the_item_as_message() {
    let mut run = begin_each("", value!(["one", {"k": 2}, null]));
    for (index, expected) in ["one", r#"{"k":2}"#, "null"].into_iter().enumerate() {
        let start = start(&mut run);
        assert_eq!(start.run, name(&format!("each[{index}]")));
        assert_eq!(start.input.text(), Some(expected));
        assert!(run.ready().is_empty(), "one at a time");
        ok(&mut run, &format!("each[{index}]"), &format!("r{index}"));
    }
    let text = "r0\n\n---\n\nr1\n\n---\n\nr2".to_owned();
    let results = value!(["r0", "r1", "r2"]);
    assert_eq!(
        result(&run),
        (text, results, value!({"iterations": 3}), None)
    );
}

#[test]
fn loop_values_are_those_of_the_iteration() {
    let keys = "inputs = [{ item = 'loop.item.n' }, { at = 'loop.index' }, { of = 'loop.total' }, { before = 'loop.prior_results' }, { first = 'loop.prior_results.0' }]";
    let mut run = begin_each(keys, value!([{"n": "x"}, {"n": 7}]));
    assert_eq!(
        message(&mut run),
        "[item]\nx\n\n[at]\n0\n\n[of]\n2\n\n[before]\n[]\n\n[first]\nnull"
    );
    ok(&mut run, "each[0]", "r0");
    let second = start(&mut run);
    assert_eq!(
        second.input.text(),
        Some("[item]\n7\n\n[at]\n1\n\n[of]\n2\n\n[before]\n[\"r0\"]\n\n[first]\nr0")
    );
    let iteration = second.iteration.unwrap();
    let prior: Vec<_> = iteration
        .prior_results
        .iter()
        .map(|result| result.unwrap().as_str())
        .collect();
    assert_eq!(
        (iteration.index, iteration.total, prior),
        (1, 2, vec!["\"r0\""])
    );
}

#[test]
fn tool_results_of_iterations_stay_json() {
    let mut run = begin_each("tool = 't'; input = { q = 'loop.item' }", value!([1, 2]));
    let first = start(&mut run);
    assert_eq!(first.input.object(), value!({"q": 1}).as_object());
    json(&mut run, "each[0]", value!({"type": "text"}));
    started(&mut run);
    ok(&mut run, "each[1]", "plain");
    let (text, results, _, _) = result(&run);
    assert_eq!(text, "{\"type\":\"text\"}\n\n---\n\nplain");
    assert_eq!(results, value!([{"type": "text"}, "plain"]));
}

/// With `on-error = "continue"`, which is the default, every item is tried, and the node after the
/// loop gets the end of each.
#[test]
fn f12_failure_of_an_item_leaves_the_others() {
    for foreach in [
        "'src.output'".to_owned(),
        parallel(1).replacen("foreach = ", "", 1),
    ] {
        let mut run = begin(&format!(
            "src: tool = 't'; next = 'each'
             each: tool = 't'; foreach = {foreach}; input = {{ n = 'loop.item' }}; next = ['all', 'text']
             all: tool = 't'; input = {{ ends = 'each.items', one = 'each.items.1.error.code' }}; next = 'again'
             again: tool = 't'; foreach = 'each.items'; input = {{ ok = 'loop.item.ok' }}
             text: message = 'each.text'"
        ));
        started(&mut run);
        json(&mut run, "src", value!(["a", "b", "c"]));
        for index in 0..3 {
            assert_eq!(started(&mut run), [format!("each[{index}]")], "{foreach}");
            match index {
                1 => fail(&mut run, "each[1]"),
                index => json(&mut run, &format!("each[{index}]"), value!({"n": index})),
            }
        }
        let text = "{\"n\":0}\n\n---\n\n[item 1: failed]\nbroken: it broke\n\n---\n\n{\"n\":2}";
        let error = Some(("broken".to_owned(), Some(1)));
        assert_eq!(
            result(&run),
            (
                text.to_owned(),
                value!([{"n": 0}, {"n": 2}]),
                value!({"iterations": 2}),
                error
            ),
            "{foreach}"
        );
        let ends = value!([
            {"ok": true, "value": {"n": 0}},
            {"ok": false, "error": {"code": "broken", "message": "it broke"}},
            {"ok": true, "value": {"n": 2}},
        ]);
        let all = start(&mut run);
        let expected = value!({"ends": ends, "one": "broken"});
        assert_eq!(all.input.object(), expected.as_object(), "{foreach}");
        json(&mut run, "all", value!(1));
        for ok in [true, false, true] {
            let again = start(&mut run);
            assert_eq!(again.input.object(), value!({"ok": ok}).as_object());
            json(&mut run, &again.run.to_string(), value!(1));
        }
        let message = format!("[each: failed]\nbroken: it broke\n{text}");
        assert_eq!(start(&mut run).input.text(), Some(message.as_str()));
    }
}

#[test]
fn failed_items_have_no_prior_result() {
    let keys = "inputs = [{ all = 'loop.prior_results' }, { first = 'loop.prior_results.0' }, { second = 'loop.prior_results.1' }]";
    let mut run = begin_each(keys, value!([0, 1, 2]));
    started(&mut run);
    fail(&mut run, "each[0]");
    started(&mut run);
    ok(&mut run, "each[1]", "r1");
    let said = "[all]\n[null,\"r1\"]\n\n[first]\nnull\n\n[second]\nr1";
    assert_eq!(start(&mut run).input.text(), Some(said));
}

/// With `on-error = "abort"` the first failure ends the loop.
#[test]
fn f12_failure_that_aborts_keeps_the_results_before_it() {
    let mut run = begin_each("on-error = 'abort'", value!([0, 1, 2, 3]));
    for index in 0..2 {
        started(&mut run);
        ok(&mut run, &format!("each[{index}]"), "r");
    }
    started(&mut run);
    fail(&mut run, "each[2]");
    assert_eq!(started(&mut run), Vec::<String>::new());
    assert_eq!(
        result(&run),
        (
            "r\n\n---\n\nr".to_owned(),
            value!(["r", "r"]),
            value!({"iterations": 2}),
            Some(("broken".to_owned(), Some(2)))
        )
    );
}

#[test]
fn failure_in_an_aborting_loop_ends_the_run() {
    let mut run = begin_each("on-error = 'abort'", value!([0, 1]));
    started(&mut run);
    fail(&mut run, "each[0]");
    let WorkflowEnd::Aborted { node, failure } = run.outcome().end else {
        panic!("{:?}", run.outcome());
    };
    assert_eq!((&*node, failure.failed_index), ("each", Some(0)));
}

#[test]
fn parallel_iterations_are_bounded_and_results_in_item_order() {
    let mut run = begin_parallel(2, "", value!([0, 1, 2, 3]));
    assert_eq!(started(&mut run), ["each[0]", "each[1]"]);
    ok(&mut run, "each[1]", "r1");
    assert_eq!(started(&mut run), ["each[2]"]);
    ok(&mut run, "each[2]", "r2");
    assert_eq!(started(&mut run), ["each[3]"]);
    ok(&mut run, "each[3]", "r3");
    assert!(!run.is_done());
    ok(&mut run, "each[0]", "r0");
    assert_eq!(result(&run).1, value!(["r0", "r1", "r2", "r3"]));
}

#[test]
fn parallel_failure_is_that_of_the_first_item_in_any_order() {
    for order in [[1, 2], [2, 1]] {
        let mut run = begin_parallel(4, "on-error = 'abort'", value!([0, 1, 2, 3, 4, 5]));
        assert_eq!(started(&mut run).len(), 4);
        ok(&mut run, "each[3]", "r3");
        for index in order {
            fail(&mut run, &format!("each[{index}]"));
            assert_eq!(
                started(&mut run),
                Vec::<String>::new(),
                "nothing new starts"
            );
        }
        assert!(!run.is_done(), "item 0 is under way");
        ok(&mut run, "each[0]", "r0");
        let (text, results, _, error) = result(&run);
        assert_eq!((text.as_str(), results), ("r0", value!(["r0"])));
        assert_eq!(error, Some(("broken".to_owned(), Some(1))));
    }
}

#[test]
fn parallel_failure_cancels_later_items_only() {
    let mut run = begin_parallel(4, "on-error = 'abort'", value!([0, 1, 2, 3]));
    started(&mut run);
    fail(&mut run, "each[1]");
    assert_eq!(names(&run.take_cancelled()), ["each[2]", "each[3]"]);
    fail(&mut run, "each[0]");
    assert_eq!(names(&run.take_cancelled()), Vec::<String>::new());
    for index in [2, 3] {
        assert!(!run.is_done());
        fail(&mut run, &format!("each[{index}]"));
    }
    assert_eq!(result(&run).3, Some(("broken".to_owned(), Some(0))));
}

#[test]
fn items_beyond_the_bound_fail_the_node() {
    let list = |count: usize| value!((0..count).collect::<Vec<_>>());
    let run = begin_each("", list(MAX_ITEMS + 1));
    assert_eq!(result(&run).3, Some(("too-many-items".to_owned(), None)));
    let mut run = begin_each("", list(MAX_ITEMS));
    assert_eq!(started(&mut run), ["each[0]"]);
}

#[test]
fn files_of_iterations_reach_dependents_in_item_order() {
    use agent_host_types::output::{FileData, FilePart};
    let lines = format!(
        "src: tool = 't'; next = 'each'\n each: {}; next = 'after'\n after: message = 'each.text'",
        parallel(2)
    );
    let mut run = Run::new(workflow(&nodes(&lines)), "hello", Vec::new());
    started(&mut run);
    json(&mut run, "src", value!([0, 1]));
    started(&mut run);
    for index in [1, 0] {
        let file = ContentPart::File(FilePart {
            media_type: "text/plain".into(),
            data: FileData::Text(format!("f{index}")),
            filename: None,
        });
        let text = ContentPart::Text {
            text: format!("t{index}"),
        };
        let result = ToolResultOutput::Content(vec![text, file]);
        let output = NodeOutput::of_result("", None, result);
        run.settled(&name(&format!("each[{index}]")), output)
            .unwrap();
    }
    let after = start(&mut run);
    assert_eq!(after.input.text(), Some("t0\n\n---\n\nt1"));
    let data: Vec<_> = after.input.files().iter().map(|file| &file.data).collect();
    let text = |text: &str| FileData::Text(text.to_owned());
    assert_eq!(data, [&text("f0"), &text("f1")]);
}

#[test]
fn sync_loop_keeps_its_place_among_sync_nodes() {
    let mut run =
        begin("each: foreach = 'src.output'\n src: tool = 't'; next = 'each'\n zz:\n aa:");
    assert_eq!(started(&mut run), ["aa"]);
    ok(&mut run, "aa", "x");
    assert_eq!(started(&mut run), ["src"]);
    json(&mut run, "src", value!([0, 1]));
    for index in ["each[0]", "each[1]"] {
        assert_eq!(started(&mut run), [index]);
        ok(&mut run, index, "x");
    }
    assert_eq!(started(&mut run), ["zz"]);
}

#[test]
fn results_too_deep_for_a_list_stay_as_text() {
    let deep = (0..127).fold(value!("x"), |inner, _| value!([inner]));
    let mut run = begin_each("tool = 't'", value!([1]));
    started(&mut run);
    json(&mut run, "each[0]", deep.clone());
    assert_eq!(result(&run).1, value!([deep.to_string()]));
}

#[test]
fn values_that_iterations_share_are_those_of_each() {
    let keys = "inputs = [{ title = 'src.output.title' }, { none = 'src.output.none' }, { item = 'loop.item' }]";
    let mut run = begin(&format!(
        "src: tool = 't'; next = 'each'\n each: foreach = 'src.output.items'; {keys}"
    ));
    started(&mut run);
    json(
        &mut run,
        "src",
        value!({"items": [1, 2], "title": {"a": "bees"}}),
    );
    for index in 0..2 {
        let expected = format!(
            "[title]\n{{\"a\":\"bees\"}}\n\n[none]\nnull\n\n[item]\n{}",
            index + 1
        );
        assert_eq!(message(&mut run), expected);
        ok(&mut run, &format!("each[{index}]"), "x");
    }
}
