//! Point 38: the shared state, whatever the order in which nodes settle.

use super::*;
use agent_host_types::workflow::Artifact;
use pretty_assertions::assert_eq;
use serde_json::json as value;

const REDUCE: &str =
    "reduce = { list = 'append', last = 'replace', facts = 'merge', cost = 'sum' }\n";

fn begin_shared(lines: &str) -> Run {
    begin_toml(&format!("{REDUCE}{}", nodes(lines)))
}

#[test]
fn reducers_combine_in_the_order_of_ids() {
    let lines = "a: tool = 't'; mode = 'parallel'\n b: tool = 't'; mode = 'parallel'\n c: tool = 't'; mode = 'parallel'";
    let values = [
        (
            "a",
            value!({"list": [1, 2], "last": "a", "facts": {"x": {"p": 1}}, "cost": 1}),
        ),
        (
            "b",
            value!({"list": "b", "last": "b", "facts": {"x": {"q": 2}, "l": [1]}, "cost": 2.5}),
        ),
        (
            "c",
            value!({"list": [[3]], "last": null, "facts": {"x": {"p": 3}, "l": []}, "other": 1}),
        ),
    ];
    let expected = value!({
        "list": [1, 2, "b", [3]],
        "last": null,
        "facts": {"x": {"p": 3, "q": 2}, "l": []},
        "cost": 3.5,
    });
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let mut run = begin_shared(lines);
        started(&mut run);
        for (node, value) in order.map(|index| values[index].clone()) {
            json(&mut run, node, value);
        }
        assert_eq!(Value::Object(run.state()), expected);
    }
}

#[test]
fn sum_of_integers_is_exact_until_it_does_not_fit() {
    let sum = |left: i64, right: i64| {
        let mut run =
            begin_shared("a: tool = 't'; mode = 'parallel'\n b: tool = 't'; mode = 'parallel'");
        started(&mut run);
        json(&mut run, "a", value!({"cost": left}));
        json(&mut run, "b", value!({"cost": right}));
        run.state()["cost"].clone()
    };
    let large = 9_007_199_254_740_993;
    assert_eq!(sum(large, 0), value!(large));
    assert!(sum(i64::MAX, 1).is_f64());
}

#[test]
fn value_that_does_not_fit_its_reducer_fails_the_node() {
    for value in [value!({"cost": "1"}), value!({"facts": [1]})] {
        let mut run = begin_shared("a: tool = 't'");
        started(&mut run);
        json(&mut run, "a", value);
        let error = run.output("a").unwrap().error.clone().unwrap();
        assert_eq!(error.code, "invalid-state");
        assert!(run.state().is_empty());
    }
}

#[test]
fn artifact_writes_and_a_failure_does_not() {
    let mut run = begin_shared("a:\n b:");
    for (node, error) in [("a", None), ("b", Some(NodeFailure::new("x", "y")))] {
        started(&mut run);
        let mut output = NodeOutput::of_text("", None, "t");
        let artifact = Artifact::value(&value!(node)).unwrap();
        output.artifacts.insert("list".to_owned(), artifact);
        output.error = error;
        run.settled(&name(node), output).unwrap();
    }
    assert_eq!(run.state()["list"], value!(["a"]));
}

#[test]
fn state_of_a_node_is_that_of_the_nodes_before_it() {
    let lines = "a: tool = 't'; mode = 'parallel'; next = { to = 'z', when = 'state.cost == 1' }\n side: tool = 't'; mode = 'parallel'\n z: inputs = [{ list = 'state.list' }, { facts = 'state.facts.x' }]";
    for order in [["a", "side"], ["side", "a"]] {
        let mut run = begin_shared(lines);
        started(&mut run);
        for node in order {
            json(&mut run, node, value!({"list": [node], "cost": 1}));
        }
        assert_eq!(message(&mut run), "[list]\n[\"a\"]\n\n[facts]\nnull");
    }
}

#[test]
fn iterations_write_in_item_order() {
    let lines = "s: tool = 't'; next = 'e'\n e: tool = 't'; foreach = { over = 's.output', mode = 'parallel' }";
    let mut run = begin_shared(lines);
    started(&mut run);
    json(&mut run, "s", value!([0, 1, 2]));
    started(&mut run);
    for index in [2, 0, 1] {
        json(&mut run, &format!("e[{index}]"), value!({"list": index}));
    }
    assert_eq!(run.state()["list"], value!([0, 1, 2]));
}
