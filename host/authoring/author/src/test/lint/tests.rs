use super::{Observed, findings};
use agent_host_types::{
    output::ToolResultOutput,
    tool::{Effect, ToolDefinition},
};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

fn good() -> ToolDefinition {
    ToolDefinition {
        name: "count_words".to_owned(),
        title: None,
        description: "Counts the words of a text.".to_owned(),
        input_schema: json!({
            "type": "object",
            "properties": {"text": {"type": "string", "description": "The text."}},
        }),
        output_schema: None,
        effect: Effect::ReadOnly,
    }
}

fn texts(tool: &ToolDefinition, observed: Observed) -> Vec<String> {
    findings(tool, observed, /*all_ran*/ true)
        .into_iter()
        .inspect(|finding| assert_eq!(finding.tool, tool.name))
        .map(|finding| finding.text)
        .collect()
}

#[test]
fn name_and_description_defects_are_reported() {
    let short =
        "its description has 19 characters; say in a sentence what it does and when to use it";
    let long = "its description has 1025 characters, and OpenAI's maximum is 1024; move details to the properties";
    let none = "it has no description, so the model cannot know when to use it; write one";
    let gemini = "its name does not start with a letter or `_`, so Gemini refuses it; rename it";
    let table = [
        ("tool", "é".repeat(20), None),
        ("tool", "é".repeat(19), Some(short)),
        ("tool", "é".repeat(1024), None),
        ("tool", "é".repeat(1025), Some(long)),
        ("tool", " \n".to_owned(), Some(none)),
        ("_tool", good().description, None),
        ("2tool", good().description, Some(gemini)),
        ("-tool", good().description, Some(gemini)),
    ];
    for (name, description, expected) in table {
        let tool = ToolDefinition {
            name: name.to_owned(),
            description,
            ..good()
        };
        let expected: Vec<&str> = expected.into_iter().collect();
        assert_eq!(texts(&tool, Observed::default()), expected);
    }
}

#[test]
fn schemas() {
    let undescribed =
        |place: &str| format!("the property `{place}` has no description; explain what it means");
    let refused = |keyword: &str| {
        format!(
            "its input schema has `{keyword}` at the root, which providers refuse; move it to a property, or into \
             the description"
        )
    };
    let named = |place: &str| {
        format!(
            "the property `{place}` has a name that Anthropic refuses: names have 1 to 64 letters (A to Z), digits, \
             `_`, `.` and `-`; rename it"
        )
    };
    let property = |name: &str, schema: Value| json!({"properties": {name: schema}});
    let said = json!({"description": "Said."});
    let long = "a".repeat(65);
    let table = [
        (json!({}), vec![]),
        (property("a", json!({})), vec![undescribed("input.a")]),
        (
            property("a", json!({"description": " "})),
            vec![undescribed("input.a")],
        ),
        (property("a", json!({"$ref": "#/$defs/b"})), vec![]),
        (
            property(
                "a",
                json!({"description": "Said.", "properties": {"b": {}}}),
            ),
            vec![undescribed("input.a.b")],
        ),
        (
            property(
                "a",
                json!({"description": "Said.", "items": {"properties": {"b": {}}}}),
            ),
            vec![undescribed("input.a[].b")],
        ),
        (
            property(
                "a",
                json!({"description": "Said.", "anyOf": [{"properties": {"b": {}}}]}),
            ),
            vec![undescribed("input.a.b")],
        ),
        (
            json!({"$defs": {"b": property("c", json!({}))}}),
            vec![undescribed("b.c")],
        ),
        (property("ß", said.clone()), vec![named("input.ß")]),
        (property("", said.clone()), vec![named("input.")]),
        (
            property(&long, said.clone()),
            vec![named(&format!("input.{long}"))],
        ),
        (property("a.b-c_D9", said), vec![]),
        (
            json!({"oneOf": [], "not": {}}),
            vec![refused("oneOf"), refused("not")],
        ),
    ];
    for (input_schema, expected) in table {
        let tool = ToolDefinition {
            input_schema,
            ..good()
        };
        assert_eq!(texts(&tool, Observed::default()), expected);
    }
}

#[test]
fn observed_behavior_adds_findings() {
    let json_alone = "it returns JSON but has no output schema, so callers do not know what to expect and nothing is \
        checked; add one";
    let harmless = "it is `effectful`, so the user is asked before every call, but no case changed anything; add a \
        case that shows a change, or make it `read-only`";
    let called = |output: &ToolResultOutput, changed| {
        let mut observed = Observed::default();
        observed.add(Some(output), changed);
        observed
    };
    let text = ToolResultOutput::Text(String::new());
    let value = ToolResultOutput::json(json!(1));
    let failed = ToolResultOutput::error_json(json!(1));
    let effectful = ToolDefinition {
        effect: Effect::Effectful,
        ..good()
    };
    let promised = ToolDefinition {
        output_schema: Some(json!({})),
        ..good()
    };
    let table = [
        (good(), called(&text, false), vec![]),
        (good(), called(&failed, false), vec![]),
        (good(), called(&value, false), vec![json_alone]),
        (promised, called(&value, false), vec![]),
        (effectful.clone(), Observed::default(), vec![]),
        (effectful.clone(), called(&text, true), vec![]),
        (effectful.clone(), called(&text, false), vec![harmless]),
    ];
    for (tool, observed, expected) in table {
        assert_eq!(texts(&tool, observed), expected);
    }
    // A part of the cases proves no absence.
    let some_ran = findings(&effectful, called(&text, false), /*all_ran*/ false);
    assert_eq!(some_ran, []);
}
