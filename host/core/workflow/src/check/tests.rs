//! Each fault, and that all are found at once. Points 6, 8 to 14 and 34 of the specification.

use crate::doubles::{faults_of, nodes, workflow};
use pretty_assertions::assert_eq;

/// The messages of the faults of nodes.
fn faults(lines: &str) -> Vec<String> {
    match faults_of(&nodes(lines)) {
        Ok(_) => Vec::new(),
        Err(faults) => faults.iter().map(ToString::to_string).collect(),
    }
}

/// Checks that the nodes have one fault, with these words.
fn check_fault(lines: &str, words: &str) {
    let faults = faults(lines);
    assert_eq!(faults.len(), 1, "{lines}: {faults:#?}");
    assert!(faults[0].contains(words), "{lines}: {faults:#?}");
}

#[test]
fn f02_unknown_next_is_refused_naming_both() {
    check_fault(
        "a: next = 'missing'",
        "node `a`: `next` names `missing`, which is not a node",
    );
}

#[test]
fn f01_cycle_is_refused_naming_its_nodes_in_order() {
    let input = "inputs = [{ x = 'run.message' }]";
    let cases = [
        ("a: next = 'a'; I", "nodes `a` -> `a` form a cycle"),
        (
            "c: next = 'a'; I\n b: next = 'c'; I\n a: next = 'b'; I",
            "nodes `a` -> `b` -> `c` -> `a` form a cycle",
        ),
        // Off the entry, with a tail.
        (
            "entry: next = 'b'\n b: next = ['c', 'end']; I\n c: next = 'b'; I\n end: I",
            "nodes `b` -> `c` -> `b` form a cycle",
        ),
        // Between two chains.
        (
            "x: next = ['y', 'z'] \n y: next = 'q'; I\n z: next = 'q'; I\n q: next = ['p', 'r']; I\n p: next = 'q'; I\n r: I",
            "nodes `p` -> `q` -> `p` form a cycle",
        ),
    ];
    for (lines, words) in cases {
        check_fault(&lines.replace('I', input), words);
    }
}

#[test]
fn cycles_apart_from_each_other_are_all_named() {
    let input = "inputs = [{ x = 'run.message' }]";
    let lines = "a: next = 'b'; I\n b: next = 'a'; I\n c: next = 'd'; I\n d: next = 'c'; I\n e: next = ['a', 'c']";
    let faults = faults(&lines.replace('I', input));
    assert_eq!(faults.len(), 2, "{faults:#?}");
    assert!(faults[0].contains("`a` -> `b` -> `a`"), "{faults:#?}");
    assert!(faults[1].contains("`c` -> `d` -> `c`"), "{faults:#?}");
}

#[test]
fn duplicate_ids_are_refused() {
    check_fault("a:\n a:\n b:", "node `a`: 2 nodes have this id");
}

#[test]
fn f03_both_or_neither_kind_is_refused() {
    let toml = "[[node]]\nid = 'a'\n";
    let cases = [
        (
            "",
            "node `a` has no agent, tool or handler; set exactly one",
        ),
        ("agent = 'x'\ntool = 'y'", "node `a` has `agent` and `tool`"),
        (
            "agent = 'x'\ntool = 'y'\nhandler = 'z'",
            "node `a` has `agent` and `tool` and `handler`",
        ),
    ];
    for (keys, words) in cases {
        let faults = faults_of(&format!("{toml}{keys}")).unwrap_err();
        assert_eq!(faults.len(), 1, "{faults:#?}");
        assert!(faults[0].to_string().contains(words), "{faults:#?}");
    }
}

#[test]
fn workflow_without_nodes_or_name_is_refused() {
    let message = |toml: &str| faults_of(toml).unwrap_err()[0].to_string();
    assert_eq!(
        message(""),
        "workflow `w` has no nodes; add a `[[workflow.node]]`"
    );
    let definition = crate::definition::WorkflowDefinition::default();
    let faults = super::check(&definition, &crate::doubles::Names).unwrap_err();
    assert_eq!(faults[0].to_string(), "a workflow has no name; set `name`");
}

#[test]
fn unknown_executors_are_refused() {
    check_fault("a: agent = 'missing'", "node `a`: unknown agent `missing`");
    check_fault("a: tool = 'missing'", "unknown tool `missing`");
    check_fault(
        "a: handler = 'missing'",
        "unknown handler `missing`; register",
    );
}

#[test]
fn ids_with_other_characters_are_refused() {
    for id in ["", "a.b", "a b", "é", "a\\\"b", &"x".repeat(65)] {
        let toml = format!("[[node]]\nid = \"{id}\"\nagent = 'a'");
        let faults = faults_of(&toml).unwrap_err();
        assert_eq!(faults.len(), 1, "{id}: {faults:#?}");
        assert!(
            faults[0].to_string().contains("letters, digits"),
            "{faults:?}"
        );
    }
    for id in ["loop", "run", "state"] {
        check_fault(
            &format!("{id}:"),
            "the id is reserved for references such as",
        );
    }
    assert_eq!(faults("aZ_-09:"), Vec::<String>::new());
}

#[test]
fn references_are_to_nodes_before_the_one() {
    let cases = [
        ("plan", "; put a literal text in quotes"),
        ("q.text", "refers to `q.text`, but no node has the id `q`"),
        ("b.text", "no path of `next` leads from `b` to it"),
        ("c.text", "no path of `next` leads from `c` to it"),
        ("side.text", "no path of `next` leads from `side` to it"),
        (
            "loop.item",
            "`loop.item` outside of the iterations of a `foreach`",
        ),
        ("state.k", "`reduce` has no key `k`"),
        (
            "a.txt",
            "expected `text`, `output`, `artifacts`, `error` or `items` at column 3",
        ),
    ];
    for (reference, words) in cases {
        let lines = format!(
            "a: next = ['b', 'side']\n b: next = 'c'; inputs = [{{ x = \"{reference}\" }}]\n c: message = 'a.text'\n side: message = 'a.text'"
        );
        check_fault(&lines, words);
    }
    let lines = "a: next = 'b'\n b: next = 'c'; message = 'a.text'\n c: inputs = [{ x = 'a.output' }, { y = 'b.error' }, { z = '\"it\"' }, { m = 'run.message' }]";
    assert_eq!(
        faults(&lines.replace("'\"it\"'", "\"'it'\"")),
        Vec::<String>::new()
    );
}

#[test]
fn foreach_references_are_checked() {
    let node = |keys: &str| format!("a: next = 'b'\n b: {keys}");
    let cases = [
        (
            "foreach = \"'x'\"",
            "`foreach` is malformed: expected a reference",
        ),
        (
            "foreach = 'b.output'",
            "no path of `next` leads from `b` to it",
        ),
        ("foreach = 'loop.item'", "outside of the iterations"),
        (
            "foreach = { over = 'a.output', mode = 'parallel' }; message = 'loop.prior_results'",
            "make the `foreach` sequential",
        ),
        (
            "foreach = { over = 'a.output', at-once = 3 }",
            "`at-once` of `foreach` needs `mode = \"parallel\"`",
        ),
        (
            "foreach = { over = 'a.output', mode = 'parallel', at-once = 1001 }",
            "`foreach.at-once` is 1001, and the maximum is 1000",
        ),
    ];
    for (keys, words) in cases {
        check_fault(&node(keys), words);
    }
    for keys in [
        "foreach = 'a.output'; message = 'loop.prior_results'",
        "foreach = 'a.artifacts.k'; inputs = [{ i = 'loop.item.name' }]",
        "foreach = { over = 'a.output', mode = 'parallel' }; message = 'loop.index'",
    ] {
        assert_eq!(faults(&node(keys)), Vec::<String>::new(), "{keys}");
    }
}

#[test]
fn conditions_are_checked() {
    let node = |when: &str| {
        format!(
            "a: next = [{{ to = 'b', when = \"{when}\" }}, 'c']\n b: message = 'a.text'\n c: message = 'a.text'"
        )
    };
    let cases = [
        (
            "a.text = 'x'",
            "`when` of the edge to `b` is malformed: expected `==`",
        ),
        ("b.text == 'x'", "no path of `next` leads from `b` to it"),
        ("loop.index == 1", "outside of the iterations"),
        ("q.text == 'x'", "no node has the id `q`"),
    ];
    for (when, words) in cases {
        check_fault(&node(when), words);
    }
    assert_eq!(faults(&node("a.text == 'x'")), Vec::<String>::new());
}

#[test]
fn node_after_others_without_input_is_refused() {
    check_fault(
        "a: next = 'b'\n b:",
        "node `b` follows other nodes but has no input",
    );
    let after = "a: next = ['b', 'c', 'd']\n b: tool = 't'\n c: foreach = 'a.output'\n d: handler = 'h'; input = {}";
    assert_eq!(faults(after), Vec::<String>::new());
}

#[test]
fn input_of_the_wrong_kind_is_refused() {
    let cases = [
        (
            "a: input = { q = 1 }",
            "`input` is not allowed for agents; set `inputs`",
        ),
        (
            "a: tool = 't'; message = 'run.message'",
            "`message` is not allowed for tools",
        ),
        (
            "a: tool = 't'; inputs = [{ x = 'run.message' }]",
            "`inputs` is not allowed for tools",
        ),
        (
            "a: tool = 't'; input = { q = 'rust' }",
            "`q` of `input` is malformed",
        ),
        (
            "a: tool = 't'; input = { q = [{ deep = 'rust' }] }",
            "`q.0.deep` of `input` is malformed",
        ),
        (
            "a: inputs = [{ message = 'run.message' }]",
            "a whole message belongs in `message` of the node",
        ),
        ("a: inputs = [{ 'x]' = 'run.message' }]", "brackets"),
        (
            "a: inputs = [{ x = 'run.message' }, { x = 'run.message' }]",
            "occurs twice",
        ),
    ];
    for (lines, words) in cases {
        check_fault(lines, words);
    }
}

#[test]
fn literal_tool_input_is_checked_against_the_schema() {
    check_fault(
        "a: tool = 't'; input = { refused = \"'x'\" }",
        "invalid input for the tool `t`: `refused` is not in the schema; change `input`",
    );
    let with_reference = "a: tool = 't'; input = { refused = 'run.message' }";
    assert_eq!(faults(with_reference), Vec::<String>::new());
}

#[test]
fn retry_of_an_effectful_node_is_refused() {
    let retry = "retry = { times = 2, backoff-ms = 5 }";
    for kind in ["agent", "tool", "handler"] {
        check_fault(
            &format!("a: {kind} = 'eff-x'; {retry}"),
            "`retry` would repeat a node that is effectful",
        );
        for name in ["ro-x", "idem-x"] {
            let lines = format!("a: {kind} = '{name}'; {retry}");
            assert_eq!(faults(&lines), Vec::<String>::new());
        }
    }
    check_fault(
        "a: retry = { times = 101 }",
        "`retry.times` is 101, and the maximum is 100",
    );
}

#[test]
fn faults_are_all_found_in_the_order_of_the_definition() {
    let faults = faults(
        "z: agent = 'missing'; next = ['q', 'y']\n y: inputs = [{ a = 'bad' }, { b = 'nope.text' }]\n a: next = 'a'; message = 'run.message'",
    );
    let words = [
        "node `z`: unknown agent",
        "node `z`: `next` names `q`",
        "node `y`: `a` of `inputs`",
        "node `y`: `b` of `inputs`",
        "nodes `a` -> `a`",
    ];
    assert_eq!(faults.len(), words.len(), "{faults:#?}");
    for (fault, words) in faults.iter().zip(words) {
        assert!(fault.contains(words), "{fault}: {words}");
    }
}

#[test]
fn nodes_beyond_the_bound_are_refused() {
    let lines: Vec<String> = (0..=super::MAX_NODES).map(|n| format!("n{n}:")).collect();
    check_fault(
        &lines.join("\n"),
        "has 10001 nodes, and the maximum is 10000",
    );
}

#[test]
fn digest_changes_with_the_definition_and_not_with_its_form() {
    let digest = |lines: &str| workflow(&nodes(lines)).digest();
    let one = digest("a: next = 'b'\n b: message = 'a.text'");
    assert_eq!(
        one,
        digest("a: next = ['b']\n b: message = 'a.text'; mode = 'sync'")
    );
    assert_ne!(one, digest("a: next = 'b'\n b: message = 'a.output'"));
    let inputs = |order: &str| digest(&format!("a: next = 'b'\n b: inputs = [{order}]"));
    assert_ne!(
        inputs("{ x = 'a.text' }, { y = 'a.text' }"),
        inputs("{ y = 'a.text' }, { x = 'a.text' }")
    );
}
