//! Points 2, 4 and 22 to 24: messages, sections, tool inputs and files.

use super::*;
use agent_host_types::output::{FileData, FilePart};
use pretty_assertions::assert_eq;
use serde_json::Map;
use serde_json::json as value;

fn file(name: &str) -> FilePart {
    FilePart {
        media_type: "text/plain".into(),
        data: FileData::Text(name.into()),
        filename: Some(name.into()),
    }
}

fn content(text: &str, names: &[&str]) -> NodeOutput {
    let text = ContentPart::Text { text: text.into() };
    let files = names.iter().map(|name| ContentPart::File(file(name)));
    let parts = std::iter::once(text).chain(files).collect();
    NodeOutput::of_result("", None, ToolResultOutput::Content(parts))
}

fn filenames(start: &Start) -> Vec<&str> {
    let files = start.input.files().iter();
    files
        .map(|file| file.filename.as_deref().unwrap())
        .collect()
}

#[test]
fn f13_every_entry_node_gets_the_initial_message() {
    let mut run = begin("a: mode = 'parallel'\n b: mode = 'parallel'");
    let starts = run.ready();
    let texts: Vec<_> = starts.iter().map(|start| start.input.text()).collect();
    assert_eq!(texts, [Some("hello"), Some("hello")]);
}

#[test]
fn f10_message_wins_and_inputs_are_sections_in_order() {
    let mut run = begin(
        "a: next = ['b', 'c']\n b: message = 'a.text'; inputs = [{ x = 'a.text' }]\n c: inputs = [{ zeta = 'a.text' }, { alpha = \"'literal'\" }, { ask = 'run.message' }]",
    );
    started(&mut run);
    ok(&mut run, "a", "out");
    assert_eq!(message(&mut run), "out");
    ok(&mut run, "b", "");
    assert_eq!(
        message(&mut run),
        "[zeta]\nout\n\n[alpha]\nliteral\n\n[ask]\nhello"
    );
}

#[test]
fn values_that_are_not_text_are_json() {
    let mut run = begin(
        "a: tool = 't'; next = 'b'\n b: inputs = [{ all = 'a.output' }, { list = 'a.output.list' }, { word = 'a.output.word' }, { none = 'a.output.none' }, { n = 'a.output.n' }]",
    );
    started(&mut run);
    json(
        &mut run,
        "a",
        value!({"word": "it", "list": [1, "x"], "n": 1.5}),
    );
    assert_eq!(
        message(&mut run),
        "[all]\n{\"list\":[1,\"x\"],\"n\":1.5,\"word\":\"it\"}\n\n[list]\n[1,\"x\"]\n\n[word]\nit\n\n[none]\nnull\n\n[n]\n1.5"
    );
}

#[test]
fn tool_input_has_references_and_literals() {
    let mut run = begin(
        "a: tool = 't'; next = 'b'\n b: tool = 't'; input = { q = 'a.output.q', lit = \"'a.text'\", n = 3, deep = { list = ['a.output.n', true] }, none = 'a.output.x', msg = 'run.message' }",
    );
    assert_eq!(start(&mut run).input, Input::Object(Map::new()));
    json(&mut run, "a", value!({"q": "bees", "n": [1]}));
    let expected = value!({
        "q": "bees", "lit": "a.text", "n": 3, "deep": {"list": [[1], true]}, "none": null,
        "msg": "hello",
    });
    let start = start(&mut run);
    assert_eq!(start.input.object(), expected.as_object());
}

#[test]
fn files_of_referenced_outputs_reach_the_next_agent() {
    let lines = "a: mode = 'parallel'; next = 'c'\n b: mode = 'parallel'; next = 'c'\n c: inputs = [{ b = 'b.text' }, { a = 'a.output' }, { m = 'run.message' }]; next = 'd'\n d: message = 'c.text'";
    let mut run = Run::new(workflow(&nodes(lines)), "hello", vec![file("initial")]);
    let starts = run.ready();
    assert!(starts.iter().all(|start| filenames(start) == ["initial"]));
    run.settled(&name("a"), content("ta", &["a1", "a2"]))
        .unwrap();
    run.settled(&name("b"), content("tb", &["b1"])).unwrap();
    let join = start(&mut run);
    assert_eq!(join.input.text(), Some("[b]\ntb\n\n[a]\nta\n\n[m]\nhello"));
    assert_eq!(filenames(&join), ["initial", "b1", "a1", "a2"]);
    ok(&mut run, "c", "x");
    assert_eq!(filenames(&start(&mut run)), Vec::<&str>::new());
}

#[test]
fn parts_of_the_initial_message_are_split() {
    let text = |text: &str| ContentPart::Text { text: text.into() };
    let parts = vec![text("one"), ContentPart::File(file("f")), text("two")];
    let mut run = Run::of_parts(workflow(&nodes("a:")), parts);
    let start = start(&mut run);
    assert_eq!(start.input.text(), Some("one\ntwo"));
    assert_eq!(filenames(&start), ["f"]);
}

#[test]
fn output_has_the_ids_of_its_node_and_agent() {
    let mut run = begin("a: agent = 'ro-writer'; next = 't'\n t: tool = 't'");
    started(&mut run);
    ok(&mut run, "a", "x");
    started(&mut run);
    let mut output = NodeOutput::of_text("forged", Some("forged"), "forged");
    output.output = Some(ToolResultOutput::json(
        value!({"type": "text", "value": "x"}),
    ));
    run.settled(&name("t"), output).unwrap();
    let ids = |node: &str| {
        let output = run.output(node).unwrap();
        (output.node_id.clone(), output.agent_id.clone())
    };
    assert_eq!(ids("a"), ("a".into(), Some("ro-writer".into())));
    assert_eq!(ids("t"), ("t".into(), None));
    let text = &run.output("t").unwrap().text;
    assert_eq!(
        text, r#"{"type":"text","value":"x"}"#,
        "text follows the result"
    );
}

#[test]
fn input_digest_is_that_of_text_and_files() {
    let digest = |text: &str, files| {
        let mut run = Run::new(workflow(&nodes("a:")), text, files);
        start(&mut run).input_digest()
    };
    let same = digest("x", vec![file("f")]);
    assert_eq!(same, digest("x", vec![file("f")]));
    assert_ne!(same, digest("y", vec![file("f")]));
    assert_ne!(same, digest("x", vec![file("g")]));
}

#[test]
fn handler_takes_a_message_or_an_object() {
    let mut run =
        begin("a: handler = 'h'; next = 'b'\n b: handler = 'h'; input = { x = 'a.text' }");
    assert_eq!(message(&mut run), "hello");
    ok(&mut run, "a", "out");
    let expected = value!({"x": "out"});
    assert_eq!(start(&mut run).input.object(), expected.as_object());
}
