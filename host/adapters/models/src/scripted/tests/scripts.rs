use super::*;
use pretty_assertions::assert_eq;
use serde_json::Value;

/// The error of a script that cannot be read, or of its first reply.
async fn failure(script: &str) -> String {
    let model = match Scripted::parse("mine", script) {
        Ok(model) => model,
        Err(error) => {
            let error = ModelError::from(error);
            assert_eq!(error.kind, ModelErrorKind::Script);
            return error.message;
        }
    };
    let messages = [Message::text(Role::User, "hi")];
    ask(&model, &request(&messages, &[])).await.unwrap_err()
}

#[tokio::test]
async fn invalid_script_says_where() {
    let read = |why: &str| format!("Cannot read the script `mine`: {why}");
    let fails = |why: &str| {
        format!("The script `mine` failed in {why}. Correct the script and run it again.")
    };
    for (script, expected) in [
        ("", read("line 1: missing field `turn`.")),
        (
            "turn = []",
            read("it has no turns; write at least one `[[turn]]`."),
        ),
        (
            "\n[[turn]]\ntxt = 'a'",
            read("line 3: unknown field `txt`, expected one of `text`, `when`, `call`."),
        ),
        (
            "[[turn]]\nwhen = 'true'",
            read("turn 1 is empty; give it a `text` or a `[[turn.call]]`."),
        ),
        (
            "[[turn]]\n[[turn.call]]\ntool = 't'\ninput = 3",
            read(
                "line 4: `input` is a table or a string that renders to a JSON object, not a value of type integer.",
            ),
        ),
        (
            "[[let]]\nname = 'results'\nvalue = '1'\n[[turn]]\ntext = 'a'",
            read("`results` is a built-in name; choose another one for this `[[let]]`."),
        ),
        (
            "[[turn]]\ntext = '''\n\n{% if %}'''",
            fails("turn 1, `text`: line 2: syntax error: unexpected end of block"),
        ),
        (
            "[[turn]]\n[[turn.call]]\ntool = 't'\ninput = { a = [{ b = '{{' }] }",
            fails(
                "turn 1, call 1 (`t`), `input`: line 1: syntax error: unexpected end of input, expected expression",
            ),
        ),
        (
            "[[turn]]\ntext = 'a'\nwhen = '1 +'",
            fails(
                "turn 1, `when`: line 1: syntax error: unexpected end of input, expected expression",
            ),
        ),
    ] {
        assert_eq!(failure(script).await, expected, "{script}");
    }
    let long = format!("#{}", " ".repeat(script::MAX_SCRIPT_BYTES));
    assert_eq!(
        failure(&long).await,
        read("it is longer than 1048576 bytes.")
    );
}

#[tokio::test]
async fn failing_template_says_where_and_why() {
    for (turn, place, why) in [
        (
            "text = \"a\\n{{ nothing }}\"",
            "`text`",
            "line 2: undefined value",
        ),
        (
            "text = 'a'\nwhen = 'by_tool.x.ok'",
            "`when`",
            "undefined value",
        ),
        (
            "text = 'a'\nwhen = 'nothing'",
            "`when`",
            "the value is undefined",
        ),
        (
            "text = '{{ prompt | fromjson }}'",
            "`text`",
            "the input of `fromjson` is not JSON",
        ),
        (
            "[[turn.call]]\ntool = 't'\ninput = '{\"a\": \"{{ prompt }}\"}'",
            "call 1 (`t`), `input`",
            "it did not render to JSON",
        ),
        (
            "[[turn.call]]\ntool = 't'\ninput = '[]'",
            "call 1 (`t`), `input`",
            "it rendered to JSON that is not an object",
        ),
        (
            "[[turn.call]]\ntool = 't'\nwhen = 'nothing.at.all'",
            "call 1 (`t`), `when`",
            "undefined value",
        ),
        (
            "text = '{% for a in range(9999) %}{% for a in range(9999) %}{% set b = a %}{% endfor %}{% endfor %}'",
            "`text`",
            "engine ran out of fuel",
        ),
        (
            "text = '{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}'",
            "`text`",
            "recursion limit exceeded",
        ),
        (
            "text = \"{% set x = 'x' * 600000 %}{{ x }}{{ x }}\"",
            "`text`",
            "it renders to more than 1048576 bytes",
        ),
    ] {
        let message = failure(&format!("[[turn]]\n{turn}")).await;
        let begin = format!("The script `mine` failed in turn 1, {place}: ");
        assert!(
            message.starts_with(&begin) && message.contains(why),
            "{message}"
        );
    }
    let message = failure("[[let]]\nname = 'x'\nvalue = 'y'\n[[turn]]\ntext = 'a'").await;
    assert!(message.starts_with("The script `mine` failed in `let x`: the value is undefined"));
}

#[tokio::test]
async fn both_input_forms_preserve_values() {
    let prompt = "\"}, {{ prompt }} \\ \u{7} <&'>";
    let script = r#"
        [[turn]]
        [[turn.call]]
        tool = "json"
        input = '{"text": {{ prompt }}, "again": {{ prompt | tojson }}, "number": {{ prompt | length }}}'
        [[turn.call]]
        tool = "table"
        input = { text = "{{ prompt }}", list = [1, 2.5, true, "-{{ prompt }}-"], in = { day = 2026-01-02 } }
        [[turn.call]]
        tool = "none"
    "#;
    let model = Scripted::parse("mine", script).unwrap();
    let messages = [Message::text(Role::User, prompt)];
    let reply = ask(&model, &request(&messages, &[])).await.unwrap();
    let inputs: Vec<Value> = reply
        .tool_calls
        .iter()
        .map(|call| json!(call.input))
        .collect();
    assert_eq!(
        inputs,
        [
            json!({"text": prompt, "again": prompt, "number": prompt.chars().count()}),
            json!({"text": prompt, "list": [1, 2.5, true, format!("-{prompt}-")], "in": {"day": "2026-01-02"}}),
            json!({}),
        ]
    );
    for call in reply.tool_calls {
        let parsed: Value = serde_json::from_str(&call.raw_arguments).unwrap();
        assert_eq!(parsed, json!(call.input));
    }
}

#[tokio::test]
async fn templates_see_every_kind_of_result() {
    let script = r#"
        [[turn]]
        [[turn.call]]
        tool = "text"
        [[turn.call]]
        tool = "json"
        [[turn.call]]
        tool = "content"
        [[turn.call]]
        tool = "error-text"
        [[turn.call]]
        tool = "error-json"
        [[turn.call]]
        tool = "denied"
        input = { a = 1 }
        [[turn]]
        text = "{{ tools | tojson }}|{{ by_tool.json.value.a }}|{{ results | tojson }}"
    "#;
    let model = Scripted::parse("mine", script).unwrap();
    let mut messages = vec![Message::text(Role::User, "hi")];
    let answer = |call: &ToolCall| {
        let output = match call.name.as_str() {
            "text" => json!({"type": "text", "value": "{{ 1 }}"}),
            "json" => json!({"type": "json", "value": {"type": "error-text", "a": [1]}}),
            "content" => json!({"type": "content", "value": [
                {"type": "text", "text": "x"},
                {"type": "file", "media_type": "image/png", "data": {"type": "bytes", "value": "AAAA"}, "filename": "f"},
                {"type": "file", "media_type": "text/css", "data": {"type": "url", "value": "https://x"}},
            ]}),
            "error-text" => json!({"type": "error-text", "value": "bad"}),
            "error-json" => {
                json!({"type": "error-json", "value": {"code": "trap", "message": "crashed"}})
            }
            _ => json!({"type": "execution-denied"}),
        };
        serde_json::from_value(output).unwrap()
    };
    let (_, text) = play(&model, &mut messages, &["a", "b"], &answer)
        .await
        .unwrap();
    let (begin, results) = text.rsplit_once('|').unwrap();
    assert_eq!(begin, r#"["a", "b"]|[1]"#);
    let results: Value = serde_json::from_str(results).unwrap();
    let denied = "Tool call execution denied.";
    let expected = json!([
        {"tool": "text", "input": {}, "type": "text", "ok": true, "why": "", "value": "{{ 1 }}"},
        {"tool": "json", "input": {}, "type": "json", "ok": true, "why": "", "value": {"type": "error-text", "a": [1]}},
        {"tool": "content", "input": {}, "type": "content", "ok": true, "why": "", "value": [
            {"type": "text", "text": "x"},
            {"type": "file", "media_type": "image/png", "size": 3, "filename": "f"},
            {"type": "file", "media_type": "text/css", "size": null, "filename": null},
        ]},
        {"tool": "error-text", "input": {}, "type": "error-text", "ok": false, "why": "bad", "value": "bad"},
        {"tool": "error-json", "input": {}, "type": "error-json", "ok": false, "why": "crashed",
         "value": {"code": "trap", "message": "crashed"}},
        {"tool": "denied", "input": {"a": 1}, "type": "execution-denied", "ok": false, "why": denied, "reason": denied},
    ]);
    assert_eq!(results, expected);
}

/// A turn is chosen by what was known when it was its time, not by what is known now.
#[tokio::test]
async fn skipped_and_played_turns_stay_so() {
    let script = r#"
        [[turn]]
        when = "results"
        text = "never first"
        [[turn]]
        when = "not results"
        text = "one"
        [[turn.call]]
        tool = "a"
        [[turn]]
        text = "has calls, none applies"
        [[turn.call]]
        tool = "b"
        when = "false"
        [[turn]]
        text = "two after {{ results | length }}"
        [[turn.call]]
        tool = "c"
        when = "results | length == 1"
        [[turn.call]]
        tool = "d"
        when = "results | length == 2"
        [[turn]]
        text = "three of {{ prompt }}"
    "#;
    let model = Scripted::parse("mine", script).unwrap();
    let mut messages = vec![Message::text(Role::User, "hi")];
    let answer = |_: &ToolCall| ToolResultOutput::Text("ok".to_owned());
    let (calls, text) = play(&model, &mut messages, &[], &answer).await.unwrap();
    let names: Vec<&str> = calls.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!((names, text.as_str()), (vec!["a", "c"], "three of hi"));

    let ended = ask(&model, &request(&messages, &[])).await.unwrap_err();
    assert_eq!(
        ended,
        "The script `mine` has ended: all of its 5 turns are used. Its last turn should have text and no calls; \
         start a new session to play it again."
    );
}

#[tokio::test]
async fn unknown_builtin_script_is_an_error() {
    assert_eq!(
        Scripted::builtin("to\nur").unwrap_err().to_string(),
        "No built-in script `to\\nur`. Available: `tour`."
    );
    let provenance = Scripted::builtin("tour").unwrap().provenance();
    assert_eq!(
        (provenance.provider.as_str(), provenance.model.as_str()),
        ("script", "tour")
    );
}

#[tokio::test]
async fn documented_script_plays() {
    let page = include_str!("../../../SCRIPTS.md");
    let (_, script) = page.split_once("```toml\n").unwrap();
    let (script, _) = script.split_once("```").unwrap();
    let model = Scripted::parse("readme", script).unwrap();
    let mut messages = vec![Message::text(Role::User, "hi")];
    let answer = |_: &ToolCall| ToolResultOutput::json(json!({"entries": [1, 2]}));
    let played = play(&model, &mut messages, &["list_directory"], &answer).await;
    let calls = vec![(
        "list_directory".to_owned(),
        json!({"path": ".", "depth": 2}),
    )];
    let text = "There are 2 entries. You said: hi".to_owned();
    assert_eq!(played, Ok((calls, text)));
}
