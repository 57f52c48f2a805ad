use super::*;
use crate::{
    check::{Catalog, check},
    definition::{EdgeDefinition, Next, NodeDefinition, WorkflowDefinition},
    doubles::{nodes as lines, workflow},
};
use agent_host_types::{reason::Reason, tool::Effect, workflow::NodeOutput};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::{Map, Value};

const GRAPH: &str = "end: mode = 'async'; next = ['b', { to = 'c', when = \"end.text == 'a\\\"b'\" }]\n b: message = 'end.text'; next = 'd'\n c: foreach = 'end.artifacts.k'; next = 'd'\n d: tool = 't'";

#[test]
fn text_is_indented_and_draws_a_join_once() {
    let expected = "\
end (agent a, async)
  b (agent a)
    d (tool t)
  c (agent a, foreach), when end.text == 'a\"b'
    d (above)
";
    assert_eq!(text(&workflow(&lines(GRAPH)), &States::none()), expected);
}

#[test]
fn drawings_have_the_states_of_a_run() {
    let mut run = Run::new(workflow(&lines(GRAPH)), "hello", Vec::new());
    let start = run.ready().remove(0);
    run.settled(&start.run, NodeOutput::of_text("", None, "no"))
        .unwrap();
    let states = States::from_run(&run);
    let expected = "\
end (agent a, async) done
  b (agent a) pending
    d (tool t) pending
  c (agent a, foreach) skipped, when end.text == 'a\"b'
    d (above)
";
    assert_eq!(text(run.workflow(), &states), expected);
    let expected = "\
flowchart TD
    n0[\"b<br/>agent a<br/>pending\"]:::pending
    n1[\"c<br/>agent a, foreach<br/>skipped\"]:::skipped
    n2[\"d<br/>tool t<br/>pending\"]:::pending
    n3[\"end<br/>agent a, async<br/>done\"]:::done
    n0 --> n2
    n1 --> n2
    n3 --> n0
    n3 -->|\"end.text #61;#61; #39;a#34;b#39;\"| n1
    classDef pending fill:#eeeeee,stroke:#999999
    classDef done fill:#d4edda,stroke:#155724
    classDef skipped fill:#ffffff,stroke:#999999,stroke-dasharray:4
";
    assert_eq!(mermaid(run.workflow(), &states), expected);
    let drawn = dot(run.workflow(), &states);
    assert!(drawn.contains("n3 [label=\"end\\nagent a, async\\ndone\", style=filled"));
    assert!(
        drawn.contains("n3 -> n1 [label=\"end.text == 'a\\\"b'\"];"),
        "{drawn}"
    );
}

#[test]
fn layout_has_every_edge_lead_to_a_later_layer() {
    let mut run = Run::new(workflow(&lines(GRAPH)), "hello", Vec::new());
    let start = run.ready().remove(0);
    run.settled(&start.run, NodeOutput::of_text("", None, "no"))
        .unwrap();
    let drawn = layout(run.workflow(), &States::from_run(&run));
    let nodes = drawn.nodes.iter().map(|node| {
        let state = node.state.as_deref().unwrap();
        (node.id.as_str(), state, node.layer, node.place)
    });
    let expected = [
        ("b", "pending", 1, 0),
        ("c", "skipped", 1, 1),
        ("d", "pending", 2, 0),
        ("end", "done", 0, 0),
    ];
    assert_eq!(nodes.collect::<Vec<_>>(), expected);
    let edges = drawn.edges.iter();
    let edges = edges.map(|edge| (edge.from, edge.to, edge.when.as_deref()));
    let expected = [
        (0, 2, None),
        (1, 2, None),
        (3, 0, None),
        (3, 1, Some("end.text == 'a\"b'")),
    ];
    assert_eq!(edges.collect::<Vec<_>>(), expected);
    // The longest path decides, and places follow those before.
    let long = "a: next = ['b', 'd']\n b: tool = 't'; next = 'c'\n c: tool = 't'; next = 'd'\n d: tool = 't'";
    let drawn = layout(&workflow(&lines(long)), &States::none());
    let layers = drawn.nodes.iter().map(|node| node.layer);
    assert_eq!(layers.collect::<Vec<_>>(), [0, 1, 2, 3]);
}

#[test]
fn long_chain_is_drawn_without_recursion() {
    let count = 5_000;
    let node = |index: usize| match index {
        0 => "n0: next = 'n1'".to_owned(),
        index if index == count => format!("n{index}: tool = 't'"),
        index => format!("n{index}: tool = 't'; next = 'n{}'", index + 1),
    };
    let nodes: Vec<String> = (0..=count).map(node).collect();
    let drawn = text(&workflow(&lines(&nodes.join("\n"))), &States::none());
    assert_eq!(drawn.lines().count(), count + 1);
    assert!(drawn.lines().all(|line| line.len() < 120));
}

/// A catalog that has every name.
struct Any;

impl Catalog for Any {
    fn agent(&self, _: &str) -> Option<Effect> {
        Some(Effect::ReadOnly)
    }

    fn tool(&self, _: &str) -> Option<Effect> {
        Some(Effect::ReadOnly)
    }

    fn handler(&self, _: &str) -> Option<Effect> {
        Some(Effect::ReadOnly)
    }

    fn check_tool_input(&self, _: &str, _: &Map<String, Value>) -> Result<(), Reason> {
        Ok(())
    }
}

/// Two nodes and an edge, with these names and this text in the condition.
fn hostile(first: &str, second: &str, condition: &str) -> Workflow {
    let quoted = condition.replace('\\', "\\\\").replace('\'', "\\'");
    let node = |id: &str, agent: &str| NodeDefinition {
        id: id.into(),
        agent: Some(agent.into()),
        ..NodeDefinition::default()
    };
    let edge = EdgeDefinition {
        to: "b".into(),
        when: Some(format!("a.text == '{quoted}'")),
    };
    let definition = WorkflowDefinition {
        name: "w".into(),
        node: vec![
            NodeDefinition {
                next: Next(vec![edge]),
                ..node("a", first)
            },
            NodeDefinition {
                message: Some("a.text".into()),
                ..node("b", second)
            },
        ],
        ..WorkflowDefinition::default()
    };
    check(&definition, &Any).unwrap()
}

/// Replaces the content of quoted texts by nothing; `None` if a quote is open at the end of a line.
fn skeleton(drawing: &str, has_escapes: bool) -> Option<String> {
    let mut out = String::new();
    for line in drawing.lines() {
        let (mut is_quoted, mut is_escaped) = (false, false);
        for c in line.chars() {
            match c {
                _ if is_escaped => is_escaped = false,
                '\\' if is_quoted && has_escapes => is_escaped = true,
                '"' => {
                    is_quoted = !is_quoted;
                    out.push(c);
                }
                _ if is_quoted => {}
                c => out.push(c),
            }
        }
        if is_quoted {
            return None;
        }
        out.push('\n');
    }
    Some(out)
}

fn check_labels(first: &str, second: &str, condition: &str) {
    let workflow = hostile(first, second, condition);
    let states = States::none();
    let drawn = mermaid(&workflow, &states);
    let expected = "flowchart TD\n    n0[\"\"]\n    n1[\"\"]\n    n0 -->|\"\"| n1\n";
    assert_eq!(
        skeleton(&drawn, false).as_deref(),
        Some(expected),
        "{drawn}"
    );
    let labels = drawn.replace("<br/>", "");
    let arrows = labels.matches("-->").count();
    assert_eq!(arrows, 1, "{drawn}");
    assert!(
        !labels.contains('<') && !labels.contains('&') && !labels.contains('`'),
        "{drawn}"
    );

    let drawn = dot(&workflow, &states);
    let expected = "digraph {\n    node [shape=box];\n    n0 [label=\"\"];\n    n1 [label=\"\"];\n    n0 -> n1 [label=\"\"];\n}\n";
    assert_eq!(skeleton(&drawn, true).as_deref(), Some(expected), "{drawn}");

    let drawn = text(&workflow, &states);
    let lines: Vec<&str> = drawn.split('\n').collect();
    assert_eq!(lines.len(), 3, "{drawn}");
    assert!(
        lines[0].starts_with("a (agent ") && lines[1].starts_with("  b (agent "),
        "{drawn}"
    );
    assert!(
        !drawn.chars().any(|c| c.is_control() && c != '\n'),
        "{drawn:?}"
    );
}

#[test]
fn hostile_labels_stay_labels() {
    for label in [
        "\"]; x --> y; z[\"",
        "a\\",
        "\\\"",
        "a\nb --> c",
        "a\r\nb",
        "`**md**`",
        "<script>alert(1)</script>",
        "&quot;]",
        "#quot;]",
        "\u{1b}[2J\u{7}",
        "\u{202e}txt",
        "end",
        "\"]:::done",
        "%% comment",
        "\u{2028}n9 --> n8",
        "",
    ] {
        check_labels(label, label, label);
    }
}

proptest! {
    #[test]
    fn no_label_adds_a_node_or_an_edge_fuzz(
        first in "[\"\\\\\\n\\r<>&#;`|\\[\\]{}a-c -]{0,30}|\\PC{0,30}|.{0,20}",
        second in "(\"|\\\\|\\n|-->|->|;|n1|\\]|\\[|x){0,20}",
        condition in "[^\\x00]{0,30}",
    ) {
        check_labels(&first, &second, &condition);
    }
}
