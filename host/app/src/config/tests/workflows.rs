//! Workflows: their resolved form, and every definition that is refused before its nodes are
//! checked.

use super::Tree;
use crate::config::Overrides;
use agent_host_workflow::definition::{NodeDefinition, WorkflowDefinition};
use pretty_assertions::assert_eq;
use serde_json::json;

#[test]
fn workflows_are_resolved_as_they_are_written() {
    let toml = r#"
        [[workflow]]
        name = "Report_1-a"
        description = "Reports."
        [[workflow.node]]
        id = "find"
        tool = "no_such_tool"
        input = { glob = "'*.md'", limit = 5, deep = { a = [true, 1.5] } }
        next = "no-such-node"

        [[workflow]]
        name = "empty"
    "#;
    let tree = Tree::new();
    let config = tree.load(toml, &Overrides::default()).unwrap();
    let workflows: Vec<WorkflowDefinition> = config
        .workflows
        .iter()
        .map(|workflow| workflow.as_ref().clone())
        .collect();
    let input = json!({ "glob": "'*.md'", "limit": 5, "deep": { "a": [true, 1.5] } });
    let node = NodeDefinition {
        id: "find".to_owned(),
        tool: Some("no_such_tool".to_owned()),
        input: input.as_object().cloned(),
        next: serde_json::from_value(json!("no-such-node")).unwrap(),
        ..NodeDefinition::default()
    };
    let report = WorkflowDefinition {
        name: "Report_1-a".to_owned(),
        description: "Reports.".to_owned(),
        node: vec![node],
        ..WorkflowDefinition::default()
    };
    let empty = WorkflowDefinition {
        name: "empty".to_owned(),
        ..WorkflowDefinition::default()
    };
    assert_eq!(workflows, [report, empty]);
}

#[test]
fn workflows_that_cannot_be_used_are_refused() {
    let named = |name: &str| format!("[[workflow]]\nname = \"{name}\"\n");
    let node = |lines: &str| named("a") + "[[workflow.node]]\nid = \"n\"\n" + lines;
    let invalid = |shown: &str| {
        format!(
            "the workflow name `{shown}` is invalid: names have 1 to 64 letters (A to Z), digits, `_` and `-`; \
             change `name` under [[workflow]]"
        )
    };
    let date = "`input` contains a date, but JSON has no dates; write it as a literal in both kinds of quotes, like \
        \"'2026-01-31'\"";
    let number =
        "`input` contains `inf` or `nan`, but JSON has no such numbers; write another value";
    let nodes = "[[workflow.node]]\n";
    let table = [
        (named(""), invalid("")),
        (named("a b"), invalid("a b")),
        (named("é"), invalid("é")),
        (named("\\u001b[2J"), invalid("\\u{1b}[2J")),
        (named(&"x".repeat(65)), invalid(&"x".repeat(65))),
        (
            named("a") + &named("a"),
            "two workflows are named `a`; rename one of them".to_owned(),
        ),
        (
            (0..101).map(|index| named(&format!("w{index}"))).collect(),
            "there are 101 workflows, and the maximum is 100; remove some of them".to_owned(),
        ),
        (
            named("a") + &nodes.repeat(10_001),
            "the workflow has 10001 nodes, and the maximum is 10000; split it into several workflows".to_owned(),
        ),
        (node("input = { day = 2026-01-31 }"), date.to_owned()),
        (node("input = { a = [{ b = 07:30:00 }] }"), date.to_owned()),
        (node("input = { a = nan }"), number.to_owned()),
        (node("input = { a = { b = [-inf] } }"), number.to_owned()),
    ];
    let tree = Tree::new();
    for (toml, expected) in table {
        assert_eq!(tree.problem(&toml, &Overrides::default()), expected);
    }
    let most = (0..100).map(|index| named(&format!("w{index}")));
    let most = most.collect::<String>() + &nodes.repeat(10_000);
    let config = tree.load(&most, &Overrides::default()).unwrap();
    assert_eq!(config.workflows.len(), 100);
    let last = config.workflows.last().unwrap();
    assert_eq!((last.name.as_str(), last.node.len()), ("w99", 10_000));
}

#[test]
fn workflow_of_wrong_form_is_refused_with_a_hint() {
    let node = |lines: &str| format!("[[workflow]]\nname = \"a\"\n[[workflow.node]]\n{lines}\n");
    let table = [
        (
            "[[workflow]]\nnode = []\n".to_owned(),
            "line 1, column 1: missing key `name`; add it",
        ),
        (
            "[[workflow]]\nname = \"a\"\nnodes = []\n".to_owned(),
            "line 3, column 1: unknown key `nodes`; did you mean `node`?",
        ),
        (
            "[[workflow]]\nname = \"a\"\nreduce = { notes = \"add\" }\n".to_owned(),
            "line 3, column 20: invalid value `add`; the values are `append`, `replace`, `merge`, `sum`",
        ),
        (
            node("agnet = \"a\""),
            "line 4, column 1: unknown key `agnet`; did you mean `agent`?",
        ),
        (
            node("on_error = \"abort\""),
            "line 4, column 1: unknown key `on_error`; did you mean `on-error`?",
        ),
        (
            node("mode = \"paralel\""),
            "line 4, column 8: invalid value `paralel`; did you mean `parallel`?",
        ),
        (
            node("retry = { times = 1, backoff_ms = 5 }"),
            "line 4, column 22: unknown key `backoff_ms`; did you mean `backoff-ms`?",
        ),
        (
            node("timeout-ms = 0"),
            "line 4, column 14: invalid value: integer `0`, expected a nonzero u64; correct it",
        ),
        (
            node("next = [\"b\", { too = \"c\" }]"),
            "line 4, column 16: unknown key `too`; did you mean `to`?",
        ),
        (
            node("foreach = { over = \"a.output\", at_once = 3 }"),
            "line 4, column 32: unknown key `at_once`; did you mean `at-once`?",
        ),
        (
            node("inputs = { a = \"b.text\" }"),
            "line 4, column 10: invalid type: map, expected a list of tables with one key each, `[{ KEY = REFERENCE }, \
             ...]`; correct it",
        ),
    ];
    let tree = Tree::new();
    for (toml, expected) in table {
        let text = tree.refusal(&toml, &Overrides::default());
        let whole = format!("cannot use ROOT/home/ann/project/agent.toml: {expected}");
        assert_eq!(text, whole, "{toml}");
    }
}

#[test]
fn workflow_problems_are_all_told_with_key_and_line() {
    let toml = "max-turns = 0\n[[workflow]]\nname = \"a b\"\n[[workflow.node]]\nid = \"n\"\n\
                input = { day = 2026-01-31, \"an y\" = nan }\n[[workflow]]\nname = \"c\"\n\
                [[workflow.node]]\n[[workflow.node]]\n[workflow.node.input]\nx = inf\n[[workflow]]\nname = \"c\"\n";
    let tree = Tree::new();
    let error = tree.load(toml, &Overrides::default()).unwrap_err();
    let places: Vec<(&str, usize)> = error
        .problems()
        .iter()
        .map(|problem| {
            let excerpt = problem.span.as_ref().unwrap().excerpt.as_ref();
            (
                problem.key.as_deref().unwrap_or_default(),
                excerpt.unwrap().line,
            )
        })
        .collect();
    assert_eq!(
        places,
        [
            ("workflow[0].name", 3),
            ("workflow[0].node[0].input.\"an y\"", 6),
            ("workflow[0].node[0].input.day", 6),
            ("workflow[1].node[1].input.x", 12),
            ("workflow[2].name", 14),
            ("max-turns", 1),
        ]
    );
}

/// A table can nest as deep as the file is long.
#[test]
fn workflow_input_of_any_depth_is_read_or_refused() {
    let tree = Tree::new();
    let header = format!("[workflow.node.input{}]\n", ".a".repeat(200_000));
    let dotted = format!("input{} = 1\n", ".a".repeat(200_000));
    let inline = format!(
        "input = {}1{}\n",
        "{ a = ".repeat(50_000),
        "}".repeat(50_000)
    );
    for nested in [header, dotted, inline] {
        let toml = format!("[[workflow]]\nname = \"a\"\n[[workflow.node]]\nid = \"n\"\n{nested}");
        if let Err(error) = tree.load(&toml, &Overrides::default()) {
            assert!(error.to_string().len() < 4_000, "{error}");
        }
    }
}
