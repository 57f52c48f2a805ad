//! Lists in which single tools cannot be used.

use super::*;
use pretty_assertions::assert_eq;

fn at(name: &str, raw: RawDefinition) -> RawDefinition {
    RawDefinition {
        name: name.to_owned(),
        ..raw
    }
}

/// A tool whose output schema has this many bytes.
fn large_output(bytes: usize) -> RawDefinition {
    let frame = r#"{"description":""}"#.len();
    output(&format!(
        r#"{{"description":"{}"}}"#,
        "a".repeat(bytes - frame)
    ))
}

#[test]
fn one_unusable_tool_or_part_leaves_the_others() {
    let only_patterns = r##"{"type":"object","properties":{"a":{"pattern":"(?=a)"}}}"##;
    let cases = [
        (
            schema(r##"{"type":"object","allOf":[{"$ref":"#"}]}"##),
            "the input schema: its references are circular, or expand to more than 50000 keywords for one value; use \
             fewer nested references; the tool is left out",
        ),
        (
            schema(r#"{"type":"object","$ref":"other.json"}"#),
            "the input schema: the reference `other.json` does not resolve; refer to a part of the schema, as \
             `#/$defs/NAME`; the tool is left out",
        ),
        (
            schema("{"),
            "the input schema is not JSON: EOF while parsing an object at line 1 column 1; the tool is left out",
        ),
        (
            described("a\u{200B}b"),
            "the description has control characters, invisible characters, or characters that change the text \
             direction; the tool is left out",
        ),
        (
            described("a".repeat(8_193)),
            "the description has 8193 bytes and was cut to 8192",
        ),
        (
            at("FIRST", raw()),
            "another tool has this name, or one that differs only in case; the tool is left out",
        ),
        (
            at("a b", raw()),
            "a name has 1 to 64 letters, digits, `_` and `-`; the tool is left out",
        ),
        (
            schema(only_patterns),
            "the input schema is checked without patterns that this host does not support (look-around, \
             back-references, too large or too many): `(?=a)`",
        ),
        (
            large_output(71_000),
            "the output schema has 71000 bytes, and the maximum is 65536; the tool is offered without it, so its \
             results are not checked",
        ),
        (
            output(r#"{"pattern":"(?=a)"}"#),
            "the output schema: \"(?=a)\" is not a \"regex\"; the tool is offered without it, so its results are not \
             checked",
        ),
    ];
    for (tool, note) in cases {
        let name = tool.name.clone();
        let is_left_out = note.ends_with("the tool is left out");
        let list = vec![at("first", raw()), tool, at("last", raw())];
        let (definitions, notes) = Definitions::select(list, InputChecks::Source).unwrap();
        let expected = ToolNote {
            tool: name.clone(),
            note: note.to_owned(),
        };
        assert_eq!(notes, [expected]);
        let names: Vec<&str> = definitions.all().iter().map(|t| t.name.as_str()).collect();
        let all = [
            &["first"],
            &[name.as_str()][usize::from(is_left_out)..],
            &["last"],
        ]
        .concat();
        assert_eq!(names, all);
        for tool in names {
            let schemas = definitions.schemas(tool).unwrap();
            assert!(schemas.output.is_none(), "{tool}");
        }
    }
}

/// The cut is between two characters, and what is beyond it is not checked, since no one sees it.
#[test]
fn long_description_is_cut_with_a_mark_and_a_note() {
    let long = format!("{}\u{200B}", "é".repeat(4_100));
    for checks in [InputChecks::Source, InputChecks::Host] {
        let list = vec![described(long.clone())];
        let (definitions, notes) = Definitions::select(list, checks).unwrap();
        let shown = &definitions.all()[0].description;
        let kept = "é".repeat((MAX_DESCRIPTION_BYTES - CUT_MARK.len()) / 2);
        assert_eq!(*shown, format!("{kept}{CUT_MARK}"), "{checks:?}");
        let notes: Vec<String> = notes.iter().map(ToString::to_string).collect();
        let note = "tool `t`: the description has 8203 bytes and was cut to 8192";
        assert_eq!(notes, [note], "{checks:?}");
        let hidden = described(format!("\u{200B}{long}"));
        let error = Definitions::select(vec![hidden], checks).unwrap_err();
        assert!(error.to_string().contains("control characters"), "{error}");
    }
}

#[test]
fn missing_type_of_arguments_is_added() {
    let (definitions, notes) =
        Definitions::select(vec![schema(r#"{"properties":{}}"#)], InputChecks::Source).unwrap();
    assert_eq!(notes, []);
    let schemas: Vec<&Value> = definitions.all().iter().map(|t| &t.input_schema).collect();
    assert_eq!(schemas, [&json!({"type": "object", "properties": {}})]);
}

/// 8 schemas of 64 KiB are within the bounds together; the ninth tool has no room, and a small one
/// neither.
#[test]
fn tools_beyond_the_bounds_of_the_list_are_left_out() {
    let list = (0..10).map(|n| large(&format!("t{n}"))).collect();
    let (definitions, notes) = Definitions::select(list, InputChecks::Source).unwrap();
    assert_eq!(definitions.all().len(), 8);
    let note = "with the input schema, the schemas of all tools would have more than 524288 bytes together; the tool is left out";
    let notes: Vec<String> = notes.iter().map(ToString::to_string).collect();
    assert_eq!(
        notes,
        [format!("tool `t8`: {note}"), format!("tool `t9`: {note}")]
    );

    let list = (0..5).map(|n| patterns(&format!("t{n}"), 32)).collect();
    let (definitions, notes) = Definitions::select(list, InputChecks::Source).unwrap();
    let kept = |tool: &ToolDefinition| {
        definitions
            .schemas(&tool.name)
            .map(|own| own.input.patterns())
    };
    let kept: Vec<_> = definitions.all().iter().filter_map(kept).collect();
    assert_eq!((kept, notes.len()), (vec![32, 32, 32, 32, 0], 1));
}

/// A component's arguments and results are checked by this host alone, so nothing of a schema is
/// dropped: the tool is.
#[test]
fn component_tool_with_unusable_schema_is_left_out() {
    let cases = [
        schema(r#"{"type":"object","properties":{"a":{"pattern":"(?=a)"}}}"#),
        schema(r#"{"properties":{}}"#),
        output(r#"{"pattern":"(?=a)"}"#),
        large_output(71_000),
        at("first", raw()),
    ];
    for tool in cases {
        let name = tool.name.clone();
        let list = vec![at("first", raw()), tool, at("last", patterns("p", 32))];
        let (definitions, notes) = Definitions::select(list, InputChecks::Host).unwrap();
        let names: Vec<&str> = definitions.all().iter().map(|t| t.name.as_str()).collect();
        assert_eq!(names, ["first", "last"]);
        let [note] = notes.as_slice() else {
            panic!("{notes:?}");
        };
        assert_eq!(note.tool, name);
        assert!(note.note.ends_with("; the tool is left out"), "{note}");
    }
    let list = (0..5).map(|n| patterns(&format!("t{n}"), 32)).collect();
    let (definitions, notes) = Definitions::select(list, InputChecks::Host).unwrap();
    assert_eq!((definitions.all().len(), notes.len()), (4, 1));
}

#[test]
fn list_without_a_usable_tool_is_refused_with_the_reasons() {
    let cases = [
        (vec![], "it defines no tools"),
        (
            vec![raw(); MAX_TOOLS + 1],
            "it defines 129 tools, and the maximum is 128",
        ),
        (
            vec![named("a b"), titled("\u{7}")],
            "none of its tools can be used: tool `a b`: a name has 1 to 64 letters, digits, `_` and `-`; the tool is \
             left out; tool `t`: the title has control characters, invisible characters, or characters that change \
             the text direction; the tool is left out",
        ),
    ];
    for (raw, says) in cases {
        assert_eq!(
            Definitions::select(raw, InputChecks::Source)
                .unwrap_err()
                .to_string(),
            says
        );
    }
}

#[test]
fn summary_template_is_taken_out_of_the_schema() {
    for (keyword, template, expected_note) in [
        (json!("Scaled by {by}"), Some("Scaled by {by}"), None),
        (
            json!("Scaled by {by"),
            None,
            Some("a `{` is not closed by `}`"),
        ),
        (json!(7), None, Some("it is not a string")),
    ] {
        let schema = json!({"type": "object", "x-summary": keyword, "properties": {"by": {}}});
        let raw = RawDefinition::new(
            "scale".to_owned(),
            "Scales.".to_owned(),
            &schema,
            None,
            Effect::ReadOnly,
        );
        let (definitions, notes) = Definitions::select(vec![raw], InputChecks::Host).unwrap();
        assert_eq!(
            definitions.all()[0].input_schema,
            json!({"type": "object", "properties": {"by": {}}})
        );
        let summary = &definitions.schemas("scale").unwrap().summary;
        assert_eq!(summary.as_ref().map(|it| it.text.as_str()), template);
        let expected: Vec<String> = expected_note
            .map(|why| {
                format!(
                    "the template `x-summary` cannot be used, so that its calls are told in the usual words: {why}"
                )
            })
            .into_iter()
            .collect();
        let notes: Vec<String> = notes.into_iter().map(|note| note.note).collect();
        assert_eq!(notes, expected);
    }
    let schema = json!({"type": "object", "x-summary": "Scaled"});
    let listed = RawDefinition::new(
        "scale".to_owned(),
        "Scales.".to_owned(),
        &schema,
        None,
        Effect::ReadOnly,
    );
    let (of_server, notes) = Definitions::select(vec![listed], InputChecks::Source).unwrap();
    assert_eq!(of_server.all()[0].input_schema, json!({"type": "object"}));
    assert_eq!(of_server.schemas("scale").unwrap().summary, None);
    assert_eq!(notes, []);
}
