use super::*;
use pretty_assertions::assert_eq;

fn node(toml: &str) -> Result<NodeDefinition, String> {
    toml::from_str(toml).map_err(|error| error.message().to_owned())
}

fn edge(to: &str, when: Option<&str>) -> EdgeDefinition {
    EdgeDefinition {
        to: to.into(),
        when: when.map(str::to_owned),
    }
}

#[test]
fn example_of_the_readme_has_no_faults() {
    let readme = include_str!("../../README.md");
    let example = readme
        .split("```")
        .find_map(|block| block.strip_prefix("toml\n"));
    let example = example.unwrap().replace("[[workflow]]", "");
    let example = example.replace("[[workflow.node]]", "[[node]]");
    let renamed = example
        .replace("web_search", "t")
        .replace("\"reader\"", "\"a\"");
    let definition = toml::from_str(&renamed).unwrap();
    crate::check::check(&definition, &crate::doubles::Names).unwrap();
}

#[test]
fn next_takes_an_id_a_table_and_a_list_of_both() {
    let table = edge("b", Some("a.text == 'x'"));
    let cases = [
        ("", vec![]),
        ("next = 'b'", vec![edge("b", None)]),
        (
            r#"next = { to = "b", when = "a.text == 'x'" }"#,
            vec![table.clone()],
        ),
        (
            r#"next = ["c", { to = "b", when = "a.text == 'x'" }, { to = "d" }]"#,
            vec![edge("c", None), table, edge("d", None)],
        ),
    ];
    for (toml, expected) in cases {
        assert_eq!(node(toml).unwrap().next.0, expected, "{toml}");
    }
}

#[test]
fn inputs_keep_the_order_of_the_definition() {
    let inputs = node(r#"inputs = [{ z = "a.text" }, { a = "'x'" }]"#)
        .unwrap()
        .inputs;
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    assert_eq!(inputs.0, [pair("z", "a.text"), pair("a", "'x'")]);
}

#[test]
fn node_defaults_are_sync_continue_any() {
    let node = node("id = 'a'").unwrap();
    assert_eq!(
        (node.mode, node.on_error, node.needs, node.foreach),
        (NodeMode::Sync, OnError::Continue, Needs::Any, None)
    );
}

#[test]
fn foreach_takes_a_reference_and_a_table() {
    let foreach = |toml: &str| node(toml).unwrap().foreach.unwrap();
    let table = foreach("foreach = { over = 'a.output', mode = 'parallel', at-once = 9 }");
    assert_eq!(table.at_once, NonZeroU32::new(9));
    assert_eq!(
        foreach("foreach = 'a.output'").mode,
        ForeachMode::Sequential
    );
}

#[test]
fn wrong_forms_are_refused_with_the_right_ones_named() {
    let cases = [
        ("nxt = 'a'", "unknown field `nxt`"),
        ("next = 1", "a list of ids and tables `{ to = ID"),
        ("next = { too = 'b' }", "unknown field"),
        (
            "inputs = { a = 'b.text' }",
            "a list of tables with one key each",
        ),
        ("inputs = [{ a = 'x', b = 'y' }]", "one key each"),
        ("foreach = 1", "`{ over = REFERENCE"),
        ("timeout-ms = 0", "nonzero"),
        ("retry = { times = 0 }", "nonzero"),
        ("mode = 'background'", "unknown variant `background`"),
        ("foreach = { over = 'a.text', at-once = 0 }", "nonzero"),
    ];
    for (toml, expected) in cases {
        let error = node(toml).unwrap_err();
        assert!(error.contains(expected), "{toml}: {error}");
    }
}

#[test]
fn definition_round_trips_through_toml_and_json() {
    let definition: WorkflowDefinition = toml::from_str(
        r#"
        name = "all"
        description = "every key"
        reduce = { notes = "append", last = "replace", facts = "merge", cost = "sum" }
        [[node]]
        id = "a"
        tool = "t"
        input = { q = "'x'", n = [1, true] }
        next = ["b", { to = "c", when = "a.text == 'x'" }]
        mode = "async"
        timeout-ms = 5
        retry = { times = 2, backoff-ms = 100 }
        [[node]]
        id = "b"
        agent = "w"
        inputs = [{ z = "a.text" }, { a = "'x'" }]
        foreach = { over = "a.output", mode = "parallel" }
        on-error = "abort"
        needs = "success"
        [[node]]
        id = "c"
        handler = "h"
        message = "a.text"
        "#,
    )
    .unwrap();
    let toml = toml::to_string(&definition).unwrap();
    assert_eq!(
        toml::from_str::<WorkflowDefinition>(&toml).unwrap(),
        definition
    );
    let json = serde_json::to_string(&definition).unwrap();
    assert_eq!(
        serde_json::from_str::<WorkflowDefinition>(&json).unwrap(),
        definition
    );
}
